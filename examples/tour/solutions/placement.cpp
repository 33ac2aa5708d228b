// Exercise 2, solved: the longest-lived box first, each in the lowest gap that is large enough.
// What lives long would otherwise cut the space of all that comes after it.
#include <algorithm>
#include <numeric>

#include "examples/tour/exercises/exercises.h"

namespace plimsoll::exercises {

std::vector<int64_t> place_boxes(std::span<const Box> boxes) {
  std::vector<size_t> order(boxes.size()), done;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater<>{}, [&](size_t i) {
    return std::pair(boxes[i].end - boxes[i].begin, boxes[i].bytes);
  });
  std::vector<int64_t> offsets(boxes.size());
  for (const size_t i : order) {
    int64_t roof = 0;                  // of those below the gap that is looked at
    for (const size_t other : done) {  // from the lowest to the highest
      const bool together = boxes[i].begin < boxes[other].end && boxes[other].begin < boxes[i].end;
      if (!together) continue;
      if (offsets[other] - roof >= boxes[i].bytes) break;
      roof = std::max(roof, offsets[other] + boxes[other].bytes);
    }
    offsets[i] = roof;
    done.insert(std::ranges::upper_bound(done, roof, {}, [&](size_t d) { return offsets[d]; }), i);
  }
  return offsets;
}

}  // namespace plimsoll::exercises
