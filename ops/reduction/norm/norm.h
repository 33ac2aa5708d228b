// Vector norms over axes.
//
//   Tensor length = norm(x, 2, {-1}, Keep::ones);     // [N, D] -> [N, 1]
//   Tensor unit = x / length;
#pragma once

#include "ops/reduction/sum/sum.h"

namespace plimsoll {

// (sum |x|^p)^(1/p) over the given axes for p > 0, max |x| for p = infinity, min |x| for
// p = -infinity. Powers and sums are f64: no f16 or f32 element is too large to be squared. The
// gradient, dy sign(x) (|x| / y)^(p - 1), is 0 where x is 0 (as in PyTorch), and for the extremes
// shared evenly among those that are equal. Errors: ValueError for other p, DTypeError for
// integers, ShapeError when an axis does not exist or is named twice.
Tensor norm(const Tensor& x, double p, const Shape& axes, Keep keep = Keep::none);

// Over all axes: a scalar.
Tensor norm(const Tensor& x, double p = 2);

}  // namespace plimsoll
