// The figures of a run as a JSON file, for --json.
//
//   ReportFile report(options.json);           // refused now, not after an hour of training
//   report.write({{"final", {{"loss", 0.03}}}});
#pragma once

#include <optional>
#include <string>

#include "data/output_file.h"
#include "train/json.h"

namespace plimsoll::train {
struct Result;
}

namespace plimsoll::examples {

struct Options;

using train::Json;

class ReportFile {
 public:
  // UsageError when the file cannot be made; an empty path makes a report that goes nowhere.
  explicit ReportFile(const std::string& path);

  void write(const Json& json) const;  // as OutputFile::write()

 private:
  std::optional<data::OutputFile> file_;
};

// What a training's report says: the options, a row for each evaluation, which is counted in units
// of so many batches, and the last figures.
Json figures(const Options& options, const std::string& unit, int64_t unit_batches,
             const train::Result& result);

// What --plan-only tells of a training.
Json planned_figures(const Options& options, const train::Result& result);

}  // namespace plimsoll::examples
