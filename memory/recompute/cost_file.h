// What instructions were measured to cost, kept for the next process: a file in the user's cache
// folder for each program, or for the engine where it is a library, which holds for this build of
// it on this processor.
//
//   KnownCosts known = read_costs(cost_file());
//   known[key] = cost;
//   write_costs(cost_file(), known);
//
// Nothing depends on it: what is missing, damaged or another machine's is measured again.
#pragma once

#include <filesystem>
#include <unordered_map>

#include "memory/recompute/costs.h"

namespace plimsoll {

using KnownCosts = std::unordered_map<uint64_t, Cost>;  // by a hash of what was measured

// In $XDG_CACHE_HOME/plimsoll, or ~/.cache/plimsoll; empty where neither is an absolute path.
std::filesystem::path cost_file();

// Empty unless the whole file is one that write_costs() made on such a machine.
KnownCosts read_costs(const std::filesystem::path& file);

// The whole file or, where that does not work, nothing. Of several processes that write at the same
// time the last one's stays.
void write_costs(const std::filesystem::path& file, const KnownCosts& costs);

}  // namespace plimsoll
