// relu(x) = max(x, 0), any shape, floating types; relu(NaN) = NaN, relu(-0) = 0.
// Its gradient, dy where y > 0 and else 0, is taken from the output, so the input need not be kept.
//
//   Tensor y = relu(x);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

Tensor relu(const Tensor& x);

}  // namespace plimsoll
