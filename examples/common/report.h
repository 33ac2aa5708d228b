// The figures of a run as a JSON file, for --json.
//
//   ReportFile report(options.json);           // refused now, not after an hour of training
//   report.write({{"final", {{"loss", 0.03}}}});
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "examples/common/output_file.h"

namespace plimsoll::examples {

using Json = nlohmann::ordered_json;

class ReportFile {
 public:
  // UsageError when the file cannot be made; an empty path makes a report that goes nowhere.
  explicit ReportFile(const std::string& path);

  void write(const Json& json) const;  // as OutputFile::write()

 private:
  std::optional<OutputFile> file_;
};

}  // namespace plimsoll::examples
