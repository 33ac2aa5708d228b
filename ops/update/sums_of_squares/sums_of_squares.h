// Sums of squares of pieces of tensors: what is under the root of a norm. Where pieces are so short
// that none lies on two ranks, the norm has the same bits for any number of them.
//
//   Tensor sums = sums_of_squares({x, y}, 64);        // f64 [pieces of x and then of y]
//   Tensor norm = sqrt(sum(sums));
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

// Of each `chunk` neighbours in row-major order, of one tensor after another, the sum of x^2 in
// f64; the last of a tensor may have fewer. Errors: ShapeError (no tensor), DTypeError (one is not
// floating), ValueError for chunk < 1. No gradient.
Tensor sums_of_squares(std::span<const Tensor> tensors, int64_t chunk);

}  // namespace plimsoll
