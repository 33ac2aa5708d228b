// Exact offsets: places boxes within a capacity, or proves that they do not fit.
//
//   const SearchedOffsets found = place_within(boxes, 1 << 20, {.seconds = 2, .threads = 2});
//   if (found.answer == Answer::placed) found.offsets;
//
// An anytime search: it runs until it has an answer or its effort is spent. Many short searches in
// different orders do better than a long one, because what makes a search long is mostly one bad
// decision near its start. The searches are numbered, and their order depends on nothing but their
// number; the answer is that of the first one that has any, also when threads run several at once.
// So the same boxes get the same offsets, whatever the number of threads and the speed of the
// machine, as long as the seconds suffice.
#pragma once

#include "memory/layout/offset_search.h"

namespace plimsoll {

struct Effort {
  double seconds = 1e9;
  // All searches together take at most so many decisions for each group of boxes that hangs
  // together in time. Unlike seconds, that is the same on every machine.
  int64_t decisions = int64_t{1} << 60;
  int threads = 1;
};

struct SearchedOffsets {
  Answer answer = Answer::unknown;
  std::vector<int64_t> offsets;  // when placed, one per box, in bytes
  int64_t decisions = 0;         // that the search took
  bool searched = true;          // false: unknown because of kMostBoxes, whatever the effort
};

// Where more boxes than these hang together in time there are too many pairs to search: they are
// placed as place() does.
constexpr size_t kMostBoxes = 5000;

// Boxes have bytes > 0 and begin < end, and their bytes together are below 2^63. Answers at once
// when more is alive at one moment than the capacity.
SearchedOffsets place_within(std::span<const Box> boxes, int64_t capacity, const Effort& effort);

// The lowest packing that the effort finds, from `start` (one of place()) down. Its lower_bound is
// raised to what is proved: where it equals the height, nothing lower exists. Returns at once where
// nothing can be searched.
Packing tighten(std::span<const Box> boxes, Packing start, const Effort& effort);

}  // namespace plimsoll
