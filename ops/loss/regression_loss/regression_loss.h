// Losses of a prediction x and a target t of the same shape and floating type, with d = x - t.
//
//   Tensor loss = mse_loss(x, target);                            // [N, D] and [N, D] -> []
//   Tensor each = l1_loss(x, target, Reduction::none);            // [N, D]
//
// Computed and returned in f32, in f64 for f64 inputs. Both x and the target have a gradient. They
// are not broadcast: a [N] beside a [N, 1] is a mistake more often than not. A mean over no
// elements is NaN. Errors: DTypeError, ShapeError; ValueError for a parameter out of range.
#pragma once

#include "ops/loss/common/reduction.h"

namespace plimsoll {

// d^2
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

// |d|, whose gradient at d = 0 is 0
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2; beta >= 0, and l1_loss for beta = 0
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::mean);

// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2); delta > 0
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean);

}  // namespace plimsoll
