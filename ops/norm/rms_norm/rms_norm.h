// Root mean square normalisation over the last axis: layer_norm without the mean and the shift.
//
//   Tensor y = rms_norm(x, gamma);                 // [B, T, D] with gamma [D]
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y = gamma x / sqrt(mean(x^2) + eps) for each row of D. x [..., D], gamma [D]; gamma and the root
// are f32, or f64 when x is. Errors: ShapeError, DTypeError, ValueError (eps < 0). Source: Zhang
// and Sennrich, "Root Mean Square Layer Normalization", arXiv 1910.07467.
Tensor rms_norm(const Tensor& x, const Tensor& gamma, double eps = 1e-6);

}  // namespace plimsoll
