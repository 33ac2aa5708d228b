#include "examples/common/report.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

// A name beside the file that nobody else uses.
std::string temporary(const std::string& path) { return cat(path, ".", getpid(), ".tmp"); }

}  // namespace

ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code none;  // what cannot be looked at cannot be opened either
  if (fs::is_symlink(path_, none)) path_ = fs::weakly_canonical(path_, none).string();
  check<UsageError>(!fs::exists(path_, none) || fs::is_regular_file(path_, none),
                    "--json: it is there and no regular file: ", path_, ". Name another file.");
  const std::ofstream probe(temporary(path_));
  check<UsageError>(probe.is_open(), "--json: the file cannot be written: ", path_,
                    ". Name a file in a folder that exists and is yours.");
}

ReportFile::~ReportFile() {
  std::error_code ignored;  // there is nothing to remove once write() has renamed it
  if (!path_.empty()) fs::remove(temporary(path_), ignored);
}

void ReportFile::write(const Json& json) {
  if (path_.empty()) return;
  {
    std::ofstream out(temporary(path_));
    out << json.dump(2) << '\n';
    out.close();
    check<DataError>(!out.fail(), "--json: writing failed: ", path_, ". Free some disk space.");
  }
  std::error_code error;
  fs::rename(temporary(path_), path_, error);
  check<DataError>(!error, "--json: the file cannot be given its name: ", path_, " (",
                   error.message(), "). Look at its folder.");
}

}  // namespace plimsoll::examples
