// clamp() of gradients: not differentiable itself, and on a GPU one launch for many of them.
//
//   join_calls([&] {
//     for (Tensor& grad : grads) grad = clip_value(grad, 0.5);       // core/joined_calls.h
//   });
#pragma once

#include "core/tensor.h"

namespace plimsoll {

// y = min(max(x, -limit), limit), any shape, floating types, with the bits of clamp(); NaN stays.
// Errors: DTypeError.
Tensor clip_value(const Tensor& x, double limit);

}  // namespace plimsoll
