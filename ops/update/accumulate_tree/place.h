// What part `part` of a tree of sums is to do, for kernels of the CPU and of a GPU.
#pragma once

#include <cstdint>

namespace plimsoll::accumulate_tree_detail {

struct Place {
  int64_t block;   // its number
  bool first;      // of its block
  bool completes;  // its block, which is a right neighbour or the end of all
  int target;      // level that the block is added up in
};

// Of 2^levels blocks of `size`.
constexpr Place place_of(int64_t part, int64_t size, int levels, bool last) {
  const int64_t block = part / size;
  const bool right = block % 2 == 1;
  return {.block = block,
          .first = part % size == 0,
          .completes = last || (right && part % size + 1 == size),
          .target = right ? levels : 0};
}

// Which level takes what block number `block` completes: below it a left neighbour waits in each.
constexpr int level_of(int64_t block) {
  int level = 0;
  while ((block >> level) % 2 == 1) ++level;
  return level;
}

}  // namespace plimsoll::accumulate_tree_detail
