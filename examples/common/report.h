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
  // Opens a temporary file beside it; an empty path makes a report that goes nowhere. UsageError when
  // it cannot be written, or is there and a folder or a device.
  explicit ReportFile(std::string path);
  ~ReportFile();
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  // Writes the whole file and gives it its name: it is there complete or not at all.
  void write(const Json& json);

 private:
  std::string path_;
};

}  // namespace plimsoll::examples
