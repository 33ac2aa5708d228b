// The constants of the ops of rearrange.h, and what all devices make of them.
#pragma once

#include <algorithm>

#include "core/engine/op.h"

namespace plimsoll {

struct FlipAttrs {
  Bits axes;
  bool operator==(const FlipAttrs&) const = default;
};

// x walked backwards, with negative strides from its last element on.
inline View flipped(View x, Bits axes) {
  int64_t last = 0;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (!has(axes, axis)) continue;
    last += (x.shape()[axis] - 1) * x.strides[axis];
    x.strides[axis] = -x.strides[axis];
  }
  x.data = x.as<std::byte>() + last * size_of(x.dtype());
  return x;
}

struct TriangleAttrs {
  bool lower;
  int64_t diagonal;
  bool operator==(const TriangleAttrs&) const = default;
};

// A row keeps columns [0, i + diagonal] or [i + diagonal, columns): those before, or from,
// i + shift. Far beyond the corners a diagonal changes nothing; there i + diagonal + 1 would
// overflow.
inline int64_t triangle_shift(const TriangleAttrs& attrs, int64_t rows, int64_t columns) {
  return std::clamp(attrs.diagonal, -rows - 1, columns + 1) + (attrs.lower ? 1 : 0);
}

}  // namespace plimsoll
