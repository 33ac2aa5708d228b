// Sorts positions by key on the device, equal keys in the order of their positions: with it sums
// over elements that meet in one place are made in the same order in every run.
//
//   auto* entries = reinterpret_cast<uint64_t*>(scratch);   // of sort_bytes(n)
//   launch(find_keys, ..., entries);                        // entries[i] = uint64_t{key} << 32 | i
//   sort_entries(entries, n, limit);                         // keys below `limit`
#pragma once

#include <cstdint>

namespace plimsoll::cuda {

constexpr int64_t sort_bytes(int64_t n) { return n * static_cast<int64_t>(sizeof(uint64_t)); }

// n and limit of at most 2^32.
void sort_entries(uint64_t* entries, int64_t n, int64_t limit);

}  // namespace plimsoll::cuda
