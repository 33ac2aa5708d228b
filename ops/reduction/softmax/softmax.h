// Softmax and its logarithm along one axis.
//
//   Tensor p = softmax(scores);            // [B, T, S]: every row of S sums to 1
//   Tensor l = log_softmax(logits, 1);     // along axis 1
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j: no overflow however large x is. Floating
// types; 16-bit ones are computed in f32. An axis other than the last is moved there and back,
// which copies. A row of -inf alone, or with +inf or NaN in it, gives NaN, as in PyTorch. The
// gradient x' = y (y' - sum_j y'_j y_j) is taken from the output. Errors: ShapeError (no such
// axis), DTypeError.
Tensor softmax(const Tensor& x, int64_t axis = -1);

// y_i = x_i - m - log(sum_j exp(x_j - m)), with the same rules; x' = y' - exp(y) sum_j y'_j.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);

}  // namespace plimsoll
