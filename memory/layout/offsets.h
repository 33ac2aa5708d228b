// Offsets: puts boxes, each with a size in bytes and a lifetime, into one arena so that no two that
// are alive at the same time share a byte, and the arena is low.
//
//   const Box boxes[] = {{.bytes = 64, .begin = 0, .end = 2},
//                        {.bytes = 128, .begin = 1, .end = 3}};
//   const Packing packing = place(boxes);      // offsets {128, 0}, height 192
//
// The problem is NP-hard ("dynamic storage allocation"). A portfolio of greedy orders, each
// mended where it sticks out, mostly meets the bound for the programs of neural networks. An order
// looks at all pairs of boxes; where there are too many for that, they are placed in the order of
// time, as an allocator would, with the free gaps in trees.
#pragma once

#include <span>
#include <vector>

#include "core/tensor/meta.h"

namespace plimsoll {

struct Box {
  int64_t bytes = 0;
  int begin = 0, end = 0;  // half-open
};

struct Packing {
  std::vector<int64_t> offsets;  // one per box
  int64_t height = 0;            // bytes of the arena
  int64_t lower_bound = 0;       // no packing is lower: the most bytes alive at one moment
};

// Pairs of boxes that a second of a core of 2025 looks at, about.
constexpr double kPairsPerSecond = 1e9;

// Boxes have bytes > 0 and begin < end. Offsets are sums of sizes: sizes in granules give offsets
// on granules. Equal boxes give equal placements. No order is tried after one has met the bound or
// a height that is `enough`. `most_pairs` limits, about, how many pairs of boxes are looked at.
// Left out, it is enough for three orders, at least kFewPairs (some 10 ms) and at most a second or
// so, which are three orders of 20,000 boxes. Where it is less than one order takes, boxes are only
// placed in the order of time, in O(n log n).
constexpr int64_t kFewPairs = 8'000'000;
Packing place(std::span<const Box> boxes);
Packing place(std::span<const Box> boxes, int64_t most_pairs, int64_t enough = 0);

// The most bytes alive at one moment, and the first moment when that many are.
struct LivePeak {
  int64_t bytes = 0;
  int instant = -1;
};
LivePeak live_peak(std::span<const Box> boxes);

}  // namespace plimsoll
