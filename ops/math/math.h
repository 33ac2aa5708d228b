// Elementary functions, element by element; any shape, floating types.
//
//   Tensor p = exp(x - log_sum);
//
// Each gradient is taken from the output where that is cheaper, so that the input need not be kept:
// exp, sqrt, tanh and sigmoid keep y, log and square keep x. Arguments outside the domain give NaN,
// as in IEEE 754 (log(0) = -inf). DTypeError for integers.
#pragma once

#include "core/tensor.h"

namespace plimsoll {

Tensor exp(const Tensor& x);      // e^x                    dx = dy y
Tensor log(const Tensor& x);      // natural logarithm      dx = dy / x
Tensor sqrt(const Tensor& x);     //                        dx = dy / 2y
Tensor square(const Tensor& x);   // x^2                    dx = dy 2x
Tensor tanh(const Tensor& x);     //                        dx = dy (1 - y^2)
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e^-x)         dx = dy y (1 - y)

}  // namespace plimsoll
