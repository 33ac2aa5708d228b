// clamp() of gradients: not differentiable itself, and on a GPU one launch for many of them in a
// captured step.
//
//   for (Tensor& grad : grads) grad = clip_value(grad, 0.5);
#pragma once

#include "core/tensor.h"

namespace plimsoll {

// y = min(max(x, -limit), limit), any shape, floating types, with the bits of clamp(); NaN stays.
// Errors: DTypeError.
Tensor clip_value(const Tensor& x, double limit);

}  // namespace plimsoll
