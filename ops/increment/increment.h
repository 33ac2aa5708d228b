// The step counter of optimizers, a tensor: what a captured step reads must not be a host number.
//
//   increment(step);                                  // 0, 1, 2, ...
#pragma once

#include "core/tensor.h"

namespace plimsoll {

// counter += 1 in place: i64, a scalar. DTypeError, ShapeError.
void increment(const Tensor& counter);

}  // namespace plimsoll
