// The three ops of loss scaling: find infinities, divide gradients by the scale, move the scale.
//
//   Tensor skip = nonfinite(grads);                   // bool []
//   grads[i] = unscale(grads[i], scale);
//   update_loss_scale(scale, good_steps, skip);
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

// True when any element of any tensor is NaN or infinite: bool, a scalar. False without elements.
// Errors: ShapeError (no tensor), DTypeError (one is not floating). No gradient.
Tensor nonfinite(std::span<const Tensor> tensors);

// y = x / scale, for a scalar scale of f32 or f64, rounded once. Errors: ShapeError, DTypeError. No
// gradient.
Tensor unscale(const Tensor& x, const Tensor& scale);

struct LossScaleUpdate {
  double growth = 2, backoff = 0.5;
  int64_t interval = 2000;  // finite steps in a row before it grows
  bool operator==(const LossScaleUpdate&) const = default;
};

// In place, where `skip` is true:  scale *= backoff, good_steps = 0, unless the scale would leave
// the normal numbers of f32; else good_steps += 1, and when that reaches the interval, scale *=
// growth unless that is infinite, good_steps = 0. scale: f32 [], good_steps: i64 [], skip: bool [].
// The rule of torch.amp.GradScaler, which has no lower limit. Errors: ShapeError, DTypeError;
// ValueError unless growth >= 1, 0 < backoff <= 1 and interval >= 1.
void update_loss_scale(const Tensor& scale, const Tensor& good_steps, const Tensor& skip,
                       const LossScaleUpdate& options = {});

// The ValueError of update_loss_scale(), in the name of `op`.
void check_options(const char* op, const LossScaleUpdate& options);

}  // namespace plimsoll
