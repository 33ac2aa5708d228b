// The figures of a run as a JSON file, for --json.
//
//   ReportFile report(options.json);           // refused now, not after an hour of training
//   report.write({{"final", {{"loss", 0.03}}}});
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::examples {

using Json = nlohmann::ordered_json;

class ReportFile {
 public:
  // Tries whether the file can be made; an empty path makes a report that goes nowhere. UsageError
  // when it cannot, or when it is there and no regular file: a folder, a pipe, a device. A link
  // stands for what it leads to.
  explicit ReportFile(std::string path);

  // Writes a new file beside it and gives it the name: the report is there complete or not at all,
  // and no other file is touched. DataError when the disk is full or the folder is gone.
  void write(const Json& json) const;

 private:
  std::string path_;
};

}  // namespace plimsoll::examples
