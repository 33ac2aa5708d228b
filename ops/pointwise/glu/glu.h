// Gated linear units: one half of an axis is multiplied with a gate made of the other half. Plain
// compositions of slice, an activation and a product.
//
//   Tensor h = swiglu(linear(x, w));             // [B, T, D] -> [B, T, 2 * H] -> [B, T, H]
//
// With a and b the first and the second half of `axis`:
//   glu(x) = a sigmoid(b)         (Dauphin et al. 2017)
//   swiglu(x) = silu(a) b         (Shazeer 2020)
// Errors: ShapeError when the axis does not exist or its size is odd.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

Tensor glu(const Tensor& x, int64_t axis = -1);
Tensor swiglu(const Tensor& x, int64_t axis = -1);

}  // namespace plimsoll
