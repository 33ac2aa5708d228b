// Other looks at the same memory. No element is copied, except by reshape of a strided view.
//
//   Tensor x = ...;                          // [B, T, 3 * D]
//   Tensor q = slice(x, 2, 0, D);            // [B, T, D]
//   Tensor h = reshape(q, {B, T, H, -1});    // [B, T, H, D / H]
//   Tensor t = permute(h, {0, 2, 1, 3});     // [B, H, T, D / H]
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// The same elements in row-major order under another shape. One size may be -1: it is worked out.
// ShapeError when the counts differ. A view; of a strided tensor, a view of a contiguous copy.
Tensor reshape(const Tensor& x, const Shape& shape);

// Axis i of the result is axis order[i] of x. ShapeError unless order names every axis once.
Tensor permute(const Tensor& x, const Shape& order);

// Swaps two axes; negative axes count from the back.
Tensor transpose(const Tensor& x, int64_t axis0 = -2, int64_t axis1 = -1);

// Elements start, start + step, ... below stop along one axis. 0 <= start <= stop <= size and
// step >= 1; IndexError otherwise.
Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);

// Repeats axes of size 1 (and adds axes in front) to reach `shape`, with strides of 0. ShapeError
// when x does not broadcast to it.
Tensor expand(const Tensor& x, const Shape& shape);

}  // namespace plimsoll
