// A weighted mean of tensors that come one after another, in memory that is kept between them.
//
//   accumulate(total, g0, n0, weights, {.first = true});           // total = n0 g0
//   accumulate(total, g1, n1, weights);                            // total += n1 g1; weights: n0
//   accumulate(total, g2, n2, weights, {.last = true});            // ... and / (n0 + n1 + n2)
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct Accumulate {
  bool first = false;  // overwrite what `total` holds
  bool last = false;   // divide by all weights
  bool operator==(const Accumulate&) const = default;
};

// In place: total = (first ? 0 : total) + weight x, and where it is the last, total /= weights +
// weight, or 0 when that is 0: the mean over nothing moves nothing. x of weight 0 is not looked at,
// so it may hold NaN. total has x's shape, in f32, or f64 for an f64 x; weight and weights are
// scalars of f64, and weights is the sum of all weights before this one (not read in the first).
// Errors: ShapeError, DTypeError; StateError as for every op that writes in place.
void accumulate(const Tensor& total, const Tensor& x, const Tensor& weight, const Tensor& weights,
                const Accumulate& options = {});

}  // namespace plimsoll
