// Exercise 2: a greedy placement. This one gives each box a place of its own, whether or not the
// others are alive with it: right, and as high as can be.
#include "examples/tour/exercises/exercises.h"

namespace plimsoll::exercises {

std::vector<int64_t> place_boxes(std::span<const Box> boxes) {
  std::vector<int64_t> offsets;
  int64_t top = 0;
  for (const Box& box : boxes) {
    offsets.push_back(top);
    top += box.bytes;
  }
  return offsets;
}

}  // namespace plimsoll::exercises
