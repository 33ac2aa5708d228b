// The step counter of optimizers, a tensor: what a captured step reads must not be a host number.
//
//   increment(step);                                  // 0, 1, 2, ...
//   increment(step, skip);                            // stays where skip is true
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// counter += 1 in place: i64, a scalar; skip: bool, a scalar. DTypeError, ShapeError.
void increment(const Tensor& counter, const Tensor& skip = {});

}  // namespace plimsoll
