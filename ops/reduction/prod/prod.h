// Products over axes.
//
//   Tensor p = prod(x, {-1});                         // [N, D] -> [N]
#pragma once

#include "ops/reduction/sum/sum.h"

namespace plimsoll {

// Multiplied in f64; over no elements 1. The gradient is dy times the product of all others, right
// where elements are 0, but not where that product with dy or the element leaves the range of f64.
// Errors: DTypeError for integers, ShapeError when an axis does not exist or is named twice.
Tensor prod(const Tensor& x, const Shape& axes, Keep keep = Keep::none);

// Over all axes: a scalar.
Tensor prod(const Tensor& x);

}  // namespace plimsoll
