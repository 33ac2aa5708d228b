// Clipping of gradients: by their global norm (Pascanu, Mikolov and Bengio 2013), where one factor
// scales them all, so that their direction stays; or each element by itself.
//
//   auto [clipped, norm] = optim::clip_by_global_norm(gradients(loss, parameters), 1.0);
//   optimizer.update(clipped);
//
//   optimizer.update(optim::clip_grad_value(gradients(loss, parameters), 0.5));
#pragma once

#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::optim {

struct Clipped {
  std::vector<Tensor> grads;
  Tensor norm;  // of the gradients as they were: a scalar, f64 when one of them is, else f32
};

// grads[i] * min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ computes it. Made
// of ops, without reading a value: it can be captured. Errors: ShapeError (no gradient), ValueError
// unless max_norm > 0, DTypeError.
Clipped clip_by_global_norm(std::span<const Tensor> grads, double max_norm);

// Every element is moved to the nearest number of [-limit, limit]; NaN stays. What
// torch.nn.utils.clip_grad_value_ does, and it can be captured too. Errors: ValueError unless
// limit > 0, also without gradients, DTypeError.
std::vector<Tensor> clip_grad_value(std::span<const Tensor> grads, double limit);

}  // namespace plimsoll::optim
