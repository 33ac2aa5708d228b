#include "core/cpu/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "core/base/control_groups.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Cores' worth of time that a group may take in each period; 0: as much as it likes.
double quota_of(const ControlGroup& group) {
  double quota = 0, period = 0;
  if (group.version == 2) {
    std::ifstream file(group.folder / "cpu.max");  // "50000 100000", or "max 100000"
    if (!(file >> quota >> period)) return 0;
  } else {
    quota = static_cast<double>(number_in(group.folder / "cpu.cfs_quota_us").value_or(0));
    period = static_cast<double>(number_in(group.folder / "cpu.cfs_period_us").value_or(0));
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

int bound_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more than 1,024 cores
}

}  // namespace

int usable_cores(const fs::path& root) {
  int cores = std::max(1, bound_cores());
  for (const ControlGroup& group : control_groups("cpu", root))
    if (const double quota = quota_of(group); quota > 0)
      cores = std::min(cores, std::max(1, static_cast<int>(std::ceil(quota))));
  return cores;
}

}  // namespace plimsoll
