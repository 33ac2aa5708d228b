// The affine map of a fully connected layer.
//
//   Tensor y = linear(x, w, b);        // [B, T, I] with w [O, I] and b [O] -> [B, T, O]
//   Tensor z = linear(x, w);           // without a bias
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y[..., o] = sum_i x[..., i] w[o, i] + bias[o]: x [..., I], w [O, I], bias [O] or undefined. One
// floating dtype for all; f16 and bf16 are computed in f32 and rounded once. Errors: ShapeError,
// DTypeError.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias = {});

}  // namespace plimsoll
