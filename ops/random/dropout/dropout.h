// Dropout without a stored mask (Srivastava et al. 2014, in the inverted form).
//
//   Tensor key = make_key(seed, step);                // i64 [2]: what changes from step to step
//   Tensor y = dropout(x, 0.1, key, /*site=*/3);      // another number for every layer
//
// The mask is a pure function of (seed, step, site, element), drawn by a counter-based generator
// (core/base/philox.h): the gradient draws it again, and so do a recomputation and a replay, which
// makes all of them agree without keeping a byte.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y[i] = x[i] / (1 - p) where u[i] >= p, else 0, with u[i] uniform in [0, 1) from the key: the mean
// of y is x. p = 0 returns x. Errors: ValueError unless 0 <= p < 1, DTypeError (x not floating, key
// not i64), ShapeError when the key is not [2].
Tensor dropout(const Tensor& x, double p, const Tensor& key, uint64_t site);

// The key {seed, step} as a tensor. A captured step takes it as an input, or from a tensor that is
// overwritten between steps: key.write<int64_t>(...).
Tensor make_key(uint64_t seed, uint64_t step, Device device = Device::cpu);

}  // namespace plimsoll
