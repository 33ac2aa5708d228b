// The map of a fully connected layer whose weight is frozen and lies in 8 or 4 bits.
//
//   Quantised w = quantise(weight, Quantisation::nf4);     // [O, I]
//   Tensor y = quantised_linear(x, w);                     // [B, T, I] -> [B, T, O]
//
// The weight is dequantised while it is multiplied, forward and in the gradient: piece by piece,
// and never there as a whole; on a GPU as a whole, in a workspace.
#pragma once

#include "ops/quantise/quantise/quantise.h"

namespace plimsoll {

// y[..., o] = sum_i x[..., i] w[o, i]: x [..., I] of a floating type, which y has too; f16 and bf16
// are computed in f32 and rounded once. Differentiable in x alone. The bits are those of
// linear(x, dequantise(w)) in f32. Under autocast x is cast as linear()'s is. Errors: ShapeError,
// DTypeError.
Tensor quantised_linear(const Tensor& x, const Quantised& w);

}  // namespace plimsoll
