// Sums of squares of pieces so short that whoever has which of them does not matter: their sum is
// the square of a norm, with the same bits for any number of ranks that have parts of the tensors.
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
