// The learning rate of a step that only the device has counted (optim/scheduled_rate.h).
//
//   rate_at_step(learning_rate, rates, step);
#pragma once

#include "core/tensor.h"

namespace plimsoll {

// learning_rate = rates[step mod n] in place. learning_rate: f64, a scalar; rates: f64 [n], n > 0;
// step: i64, a scalar. DTypeError, ShapeError.
void rate_at_step(const Tensor& learning_rate, const Tensor& rates, const Tensor& step);

}  // namespace plimsoll
