// Matrix product over the last two axes, with broadcasting over the others.
//
//   Tensor y = matmul(x, w);                          // [B, T, K] x [K, N] -> [B, T, N]
//   Tensor s = matmul(q, transpose(k));               // [B, H, T, D] x [B, H, D, S]: no copy
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y[..., m, n] = sum_k a[..., m, k] b[..., k, n]; a and b have at least two axes and one floating
// dtype; the axes in front broadcast. Transposed views are read where they are. f16 and bf16 are
// multiplied in f32 and rounded once. Errors: ShapeError (rank, inner sizes, broadcasting),
// DTypeError.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace plimsoll
