// Curves of runs as a page: how their losses, accuracy, learning rate, memory and throughput went.
//
//   file.write(curves_page(read_curves({"runs/a", "runs/b"})));
//
// A run may be read while another process trains in its folder: a row that is being written is left
// out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "train/log/log.h"

namespace plimsoll::train {

struct Curves {
  std::string name;  // in the legend
  std::vector<LogRow> rows;
};

// Named by their folders, or where two of those have one name by their paths as given. UsageError
// for a folder that is no run and for one that is given twice, DataError for a log without a row.
std::vector<Curves> read_curves(const std::vector<std::filesystem::path>& runs);

// A chart for each figure that one of the runs has, one line for each run. Of long logs the lowest
// and the highest of neighbouring points are drawn.
std::string curves_page(std::span<const Curves> runs);

}  // namespace plimsoll::train
