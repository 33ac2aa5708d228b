// Broadcasting for the reference implementations of op cases, by plain indices.
//
//   y = broadcast_map({in[0], in[1]}, [](auto v) { return v[0] + v[1]; });
#pragma once

#include <vector>

#include "tests/support/op_case.h"

namespace plimsoll {

// Element of x at position `index` of the broadcast shape `out`.
inline double broadcast_at(const Array& x, const Shape& out, int64_t index) {
  int64_t offset = 0, step = 1;
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    const int own = axis - (out.rank() - x.shape.rank());
    const int64_t position = index % out[axis];
    index /= out[axis];
    if (own < 0) continue;
    if (x.shape[own] != 1) offset += position * step;
    step *= x.shape[own];
  }
  return x[offset];
}

// f of the operands' elements, over the shape that all of them broadcast to.
template <class F>
Array broadcast_map(const std::vector<Array>& operands, const F& f) {
  Shape shape;
  for (const Array& x : operands) shape = broadcast("reference", shape, x.shape);
  Array y(shape);
  for (int64_t i = 0; i < count(shape); ++i) {
    std::vector<double> v;
    for (const Array& x : operands) v.push_back(broadcast_at(x, shape, i));
    y[i] = f(v);
  }
  return y;
}

}  // namespace plimsoll
