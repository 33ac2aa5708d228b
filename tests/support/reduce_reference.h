// Reductions over axes for the reference implementations of op cases, by plain indices.
//
//   y = reduce_groups(in[0], {0, 2}, Keep::none, [](auto& group) { return largest of group; });
#pragma once

#include "ops/reduction/sum/sum.h"
#include "tests/support/op_case.h"

namespace plimsoll {

// f of the elements that share a place in the result, in row-major order.
template <class F>
Array reduce_groups(const Array& x, const Shape& axes, Keep keep, const F& f) {
  const int rank = x.shape.rank();
  const auto reduced = [&](int axis) {
    for (const int64_t a : axes)
      if (a == axis || a + rank == axis) return true;
    return false;
  };
  Shape to;
  for (int axis = 0; axis < rank; ++axis)
    if (!reduced(axis))
      to.push_back(x.shape[axis]);
    else if (keep == Keep::ones)
      to.push_back(1);
  Array y(to);
  std::vector<std::vector<double>> groups(y.values.size());
  for (int64_t i = 0; i < count(x.shape); ++i) {
    int64_t at = 0, step = 1, rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int64_t position = rest % x.shape[axis];
      rest /= x.shape[axis];
      if (reduced(axis)) continue;
      at += position * step;
      step *= x.shape[axis];
    }
    groups[static_cast<size_t>(at)].push_back(x[i]);
  }
  for (size_t g = 0; g < groups.size(); ++g) y.values[g] = f(groups[g]);
  return y;
}

}  // namespace plimsoll
