// Sorts positions by key on the device, equal keys in the order of their positions: with it sums
// over elements that meet in one place are made in the same order in every run.
//
//   uint32_t* keys = keys_to_sort(scratch);              // sort_bytes(n) of scratch
//   launch(find_keys, ..., keys);                        // writes keys[0] ... keys[n - 1]
//   const Sorted sorted = sort_keys(scratch, n, limit);  // keys below `limit`
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::cuda {

struct Sorted {
  const uint32_t* keys;       // ascending
  const uint32_t* positions;  // where each was
};

// A radix sort by four bits at a time: each pass counts how many of kSortTile keys have which
// digit, and moves every key behind those that come before it.
constexpr int64_t kSortTile = 4096, kSortDigits = 16;

constexpr int64_t sort_bytes(int64_t n) {
  const int64_t tiles = (n + kSortTile - 1) / kSortTile;
  return (4 * n + kSortDigits * tiles) * static_cast<int64_t>(sizeof(uint32_t));
}

inline uint32_t* keys_to_sort(std::byte* scratch) { return reinterpret_cast<uint32_t*>(scratch); }

// n and limit of at most 2^32.
Sorted sort_keys(std::byte* scratch, int64_t n, int64_t limit);

}  // namespace plimsoll::cuda
