// Products over axes.
//
//   Tensor p = prod(x, {-1});                         // [N, D] -> [N]
#pragma once

#include "ops/sum/sum.h"

namespace plimsoll {

// Multiplied in f64. Over no elements the product is 1. The gradient, dy times the product of all
// others, is right where elements are 0: with one 0 it is that element's alone, with two it is 0.
// Errors: DTypeError for integers, ShapeError when an axis does not exist or is named twice.
Tensor prod(const Tensor& x, const Shape& axes, Keep keep = Keep::none);

// Over all axes: a scalar.
Tensor prod(const Tensor& x);

}  // namespace plimsoll
