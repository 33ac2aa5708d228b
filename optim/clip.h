// Clipping by global norm (Pascanu, Mikolov and Bengio 2013): all gradients are scaled by one
// factor, so that their direction stays.
//
//   auto [clipped, norm] = optim::clip_by_global_norm(gradients(loss, parameters), 1.0);
//   optimizer.update(clipped);
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"

namespace plimsoll::optim {

struct Clipped {
  std::vector<Tensor> grads;
  Tensor norm;  // of the gradients as they were: a scalar, f64 when one of them is, else f32
};

// grads[i] * min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ computes it. Made
// of ops, without reading a value: it can be captured. Errors: ShapeError (no gradient), ValueError
// unless max_norm > 0, DTypeError.
Clipped clip_by_global_norm(std::span<const Tensor> grads, double max_norm);

}  // namespace plimsoll::optim
