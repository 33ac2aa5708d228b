// The learning rate of a step that only the device has counted (optim/scheduled_rate.h).
//
//   rate_at_step(learning_rate, rates, first, step);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// learning_rate = rates[step - first] in place, NaN where rates has no such element. learning_rate:
// f64, a scalar; rates: f64 [n], n > 0; first, step: i64, scalars. DTypeError, ShapeError.
void rate_at_step(const Tensor& learning_rate, const Tensor& rates, const Tensor& first,
                  const Tensor& step);

}  // namespace plimsoll
