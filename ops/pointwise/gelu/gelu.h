// Gaussian error linear units: x weighted by the chance that a standard normal lies below it.
//
//   Tensor h = gelu(linear(x, w, b));          // PyTorch's default
//   Tensor g = gelu_tanh(linear(x, w, b));     // what GPT-2 was trained with
//
// Any shape, floating types; DTypeError otherwise. Source: Hendrycks and Gimpel, "Gaussian Error
// Linear Units", arXiv 1606.08415.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y = x Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2.
Tensor gelu(const Tensor& x);

// The approximation y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, within 5e-4 of gelu.
Tensor gelu_tanh(const Tensor& x);

}  // namespace plimsoll
