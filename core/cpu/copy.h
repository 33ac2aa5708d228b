// Strided copies on the CPU, by runs that lie side by side on both sides, or by squares where
// neighbours of one side are far apart on the other.
#pragma once

#include "core/tensor/value.h"

namespace plimsoll {

// Calls f(offset) for every element in row-major order; offset is in elements from the first.
template <class F>
void for_each_offset(const Shape& shape, const Strides& strides, F&& f) {
  if (count(shape) == 0) return;
  const int rank = shape.rank();
  Shape index = shape;  // an odometer; starts at zero
  for (int axis = 0; axis < rank; ++axis) index[axis] = 0;
  int64_t offset = 0;
  while (true) {
    f(offset);
    int axis = rank - 1;
    for (; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= index[axis] * strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// to = from, element by element: same shape and dtype, any strides. They share no memory, or all
// elements have the same places.
void copy_strided(const View& from, const View& to);

}  // namespace plimsoll
