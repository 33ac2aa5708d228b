// softplus(x) = log(1 + exp(x)), any shape, floating types; neither large nor very negative x
// overflows or loses digits. softplus(NaN) = NaN. Its gradient is dy * sigmoid(x).
//
//   Tensor y = softplus(x);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

Tensor softplus(const Tensor& x);

}  // namespace plimsoll
