// The length of all gradients taken together, and their scaling to a maximum of it.
//
//   Tensor norm = global_norm(grads);                 // scalar
//   grads[i] = scale_to_norm(grads[i], norm, 1.0);
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

// sqrt of the sum of x^2 over all elements of all tensors: a scalar, f64 when any of them is f64,
// else f32. Summed in double in an order that depends on the shapes alone, so squares of f32 cannot
// overflow. 0 when there are no elements. Errors are those of sums_of_squares(), of which it is
// made. No gradient.
Tensor global_norm(std::span<const Tensor> tensors);

// y = x * min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does; where norm is
// NaN, so is y. `norm` is a scalar of f32 or f64. Errors: ValueError unless max_norm > 0,
// ShapeError, DTypeError. No gradient.
Tensor scale_to_norm(const Tensor& x, const Tensor& norm, double max_norm);

}  // namespace plimsoll
