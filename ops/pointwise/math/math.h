// Elementary functions, element by element; any shape, floating types.
//
//   Tensor p = exp(x - log_sum);
//
// Each gradient is taken from the output where that is cheaper, so that the input need not be kept:
// exp, sqrt, rsqrt, tanh and sigmoid keep y, sign nothing, all others x. Arguments outside the
// domain give NaN, as in IEEE 754 (log(0) = -inf). The gradients of abs and sign at 0 are 0. Unlike
// PyTorch's sign(NaN) = 0, NaN stays NaN. DTypeError for integers.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

Tensor exp(const Tensor& x);      // e^x                    dx = dy y
Tensor log(const Tensor& x);      // natural logarithm      dx = dy / x
Tensor sqrt(const Tensor& x);     //                        dx = dy / 2y
Tensor rsqrt(const Tensor& x);    // 1 / sqrt(x)            dx = -dy y^3 / 2
Tensor square(const Tensor& x);   // x^2                    dx = dy 2x
Tensor tanh(const Tensor& x);     //                        dx = dy (1 - y^2)
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e^-x)         dx = dy y (1 - y)
Tensor erf(const Tensor& x);      // the error function     dx = dy 2 exp(-x^2) / sqrt(pi)
Tensor sin(const Tensor& x);      //                        dx = dy cos(x)
Tensor cos(const Tensor& x);      //                        dx = -dy sin(x)
Tensor abs(const Tensor& x);      // |x|                    dx = dy sign(x)
Tensor sign(const Tensor& x);     // 1, 0 or -1             dx = 0

}  // namespace plimsoll
