// How many cores this process may use, which can be fewer than the machine has.
//
//   set_num_threads(usable_cores());       // the default
#pragma once

#include <filesystem>

namespace plimsoll {

// The least of the cores it is bound to (taskset, mpirun, batch systems) and the quotas of its
// control groups, rounded up (containers: half a core is one). At least 1. Groups are read below
// `root`.
int usable_cores(const std::filesystem::path& root = "/");

}  // namespace plimsoll
