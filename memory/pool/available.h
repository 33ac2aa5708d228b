// How much host memory the process may still take: what the machine has, and what it is allowed.
//
//   const int64_t bytes = available_memory();
//
// The least of what Linux says could be taken without swapping, what the control groups of the
// process (version 1 or 2, with all that are above them) leave of their limits, and what `ulimit
// -v` leaves of the address space. A process that takes more than its group may is killed, and one
// with more address space than it may have gets no memory.
#pragma once

#include <cstdint>
#include <filesystem>

namespace plimsoll {

// Bytes, at least 0. Everything is read in files below `root`: proc/meminfo, proc/self and
// sys/fs/cgroup. What is not there limits nothing; without any of them, the pages that are free.
// What a group holds of files that were read does not count, as it goes when room is needed.
int64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace plimsoll
