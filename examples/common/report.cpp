#include "examples/common/report.h"

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace plimsoll::examples {
namespace {

std::string temporary(const std::string& path) { return path + ".tmp"; }

}  // namespace

ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const std::ofstream probe(temporary(path_));
  check<UsageError>(probe.is_open(), "--json: the file cannot be written: ", path_,
                    ". Name a file in a folder that exists and is yours.");
}

ReportFile::~ReportFile() {
  std::error_code ignored;  // there is nothing to remove once write() has renamed it
  if (!path_.empty()) std::filesystem::remove(temporary(path_), ignored);
}

void ReportFile::write(const Json& json) {
  if (path_.empty()) return;
  {
    std::ofstream out(temporary(path_));
    out << json.dump(2) << '\n';
    out.close();
    check<DataError>(!out.fail(), "--json: writing failed: ", path_, ". Free some disk space.");
  }
  std::filesystem::rename(temporary(path_), path_);
}

}  // namespace plimsoll::examples
