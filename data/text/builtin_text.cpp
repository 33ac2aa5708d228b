#include "data/text/builtin_text.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/base/error.h"
#include "data/file.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

// The package takes these along too (cmake/package.cmake).
constexpr const char* kFolders[] = {"docs", "core", "ops",      "autograd", "memory", "optim",
                                    "nn",   "data", "examples", "tests",    "bench"};

template <class Iterator>
std::vector<fs::path> source_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code missing;  // a folder that is not there has no files
  Iterator entry(folder, missing);
  for (std::error_code error; !missing && entry != Iterator();) {
    const fs::path extension = entry->path().extension();
    if (entry->is_regular_file(error) &&
        (extension == ".md" || extension == ".h" || extension == ".cpp"))
      files.push_back(entry->path());
    entry.increment(error);
    check<DataError>(!error, "builtin: a folder cannot be listed: ", folder.string(), " (",
                     error.message(), "). Use text:FILE instead.");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

fs::path source_folder() { return PLIMSOLL_SOURCE_DIR; }

std::string read_sources(const fs::path& root) {
  std::vector<fs::path> files = source_files<fs::directory_iterator>(root);
  for (const char* folder : kFolders) {
    const auto more = source_files<fs::recursive_directory_iterator>(root / folder);
    files.insert(files.end(), more.begin(), more.end());
  }
  check<DataError>(!files.empty(), "builtin: there are no sources to read in: ", root.string(),
                   ". Use text:FILE instead.");
  std::string text;
  for (const fs::path& file : files) text += read_text(file);
  return text;
}

}  // namespace plimsoll::data
