// Log: how a training went, row by row, for spreadsheets (log.csv) and programs (metrics.jsonl).
//
//   Log log("runs/a", {"loss", "val_loss"}, /*batches=*/0);
//   log.row(50, {{"loss", 2.31}});
//   log.row(100, {{"loss", 2.02}, {"val_loss", 1.98}});
//
// log.csv                            metrics.jsonl
//   batches,loss,val_loss              {"batches":50,"loss":2.31,"time":1763712000.123}
//   50,2.31,                           ...
//   100,2.02,1.98
//
// Numbers are written in the shortest form that reads back to the same value; what is not finite is
// null in JSON. "time" is in seconds since 1970. Every row reaches the system at once. What was
// measured stands in metrics.jsonl alone, since it is another in every run.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::train {

// Names and values, in any order; what is not finite is NaN when it is read back.
using Figures = std::vector<std::pair<std::string, double>>;

// A row of a run's log.
struct LogRow {
  int64_t batches;
  Figures figures;
  Figures measured = {};  // those of kMeasured
};
// The most bytes in use since the row before, those that were planned, and how many items of
// batches were trained on in a second; without what evaluations took.
constexpr const char* kMeasured[] = {"memory", "planned", "items_per_second"};

// Those of the run in `folder`, without one that is not whole. Nothing where there is no log.
std::vector<LogRow> read_log(const std::filesystem::path& folder);

class Log {
 public:
  // Goes on with the files of `folder`, without rows later than after `batches` batches and without
  // the one that was being written when the process ended. DataError when they cannot be written.
  Log(const std::filesystem::path& folder, std::vector<std::string> columns, int64_t batches);

  // After so many batches. ValueError for a column that there is not, DataError for a full disk.
  void row(int64_t batches, const Figures& values, const Figures& measured = {});

 private:
  std::filesystem::path csv_name_, json_name_;
  std::vector<std::string> columns_;
  std::ofstream csv_, json_;
};

}  // namespace plimsoll::train
