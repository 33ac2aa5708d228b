// The sum of parts in one fixed balanced tree, so that its bits do not depend on who added what:
// ranks may each add a subtree, and the parts that are left be added here.
//
//   Tensor s = sum_parts(x);            // [N, ...] -> [...]: ((x0 + x1) + (x2 + x3)) + (x4 + ...)
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x [N, ...] with N >= 1, of a floating type; 16-bit ones are added in f32 and rounded once. The
// left half of a tree is the largest power of two below N. The gradient of each part is dy. Of one
// part it is a view. Errors: ShapeError, DTypeError.
Tensor sum_parts(const Tensor& x);

}  // namespace plimsoll
