// Layer normalisation over the last axis.
//
//   Tensor y = layer_norm(x, gamma, beta);         // [B, T, D] with gamma and beta [D]
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y = gamma (x - mean) / sqrt(variance + eps) + beta for each row of D, the variance being the mean
// of the squared deviations (not their sum over D - 1). x [..., D], gamma and beta [D]; these two
// and all statistics are f32, or f64 when x is. Rows far away from zero lose no accuracy:
// deviations are taken from the mean before they are squared. Errors: ShapeError, DTypeError,
// ValueError (eps < 0). Source: Ba, Kiros and Hinton, "Layer Normalization", arXiv 1607.06450.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps = 1e-5);

}  // namespace plimsoll
