// What ops that move bytes between ranks share. How many ranks there are is an attribute, so that a
// step can be captured and planned for any number of them; the bytes move by the ranks of the
// thread that runs it.
#pragma once

#include "core/engine/apply.h"
#include "core/ranks/ranks.h"

namespace plimsoll::collective {

struct Exchange {
  int64_t ranks = 1;
  bool operator==(const Exchange&) const = default;
};

// The ranks to move bytes by. StateError where they are others than the op was made for.
inline Ranks& ranks_of(const char* op, const Call& call) {
  const int64_t wanted = call.attrs.as<Exchange>().ranks;
  check<StateError>(Ranks::current() && ranks_now() == wanted, op, ": it is made for ", wanted,
                    " ranks and runs on ", ranks_now(),
                    ". Capture the step where it runs, and keep the RanksScope.");
  return *Ranks::current();
}

// x [N, ...], a part for each of N ranks. ShapeError.
inline void check_parts(const char* op, const Meta& x, int64_t ranks) {
  check<ShapeError>(x.shape.rank() > 0 && x.shape[0] == ranks, op,
                    ": the first axis is not one part for each of ", ranks, " ranks: ", x.shape,
                    ". Reshape it to [", ranks, ", ...].");
}

inline Shape with_first_axis(int64_t size, const Shape& rest) {
  Shape shape{size};
  for (int axis = 0; axis < rest.rank(); ++axis) shape.push_back(rest[axis]);
  return shape;
}
inline Shape without_first_axis(const Shape& whole) {
  Shape shape;
  for (int axis = 1; axis < whole.rank(); ++axis) shape.push_back(whole[axis]);
  return shape;
}

}  // namespace plimsoll::collective
