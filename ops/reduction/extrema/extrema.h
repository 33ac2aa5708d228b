// The larger and the smaller of two, element by element, and values kept between two bounds.
//
//   Tensor y = maximum(a, b);                    // [N, D], [D] -> [N, D]
//   Tensor z = clamp(x, -1, 1);
//   Tensor u = clamp(x, 0, INFINITY);            // one bound
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y = max(a, b) and min(a, b) with NumPy broadcasting, any type, the same for both. Where one is
// NaN the result is NaN. Gradients of floating types: dy to the one that was taken, half to each
// where they are equal, dy to both where one is NaN. Errors: DTypeError, ShapeError.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

// y = min(max(x, low), high), any shape, floating types; y = high where low > high, and NaN stays.
// The gradient is dy where low <= x <= high (newer PyTorch: 0 at the bounds), else 0. Constants are
// frozen when a step is captured, f32 for f16 and bf16. Errors: DTypeError; ValueError for NaN.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace plimsoll
