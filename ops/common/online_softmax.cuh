// The maximum of a row and the sum of its exponentials in one pass (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018).
//
//   const auto [highest, total] = online_softmax(x, start, n);   // by a whole block
//   p = math::exp_of_negative(x.get(start + i) - highest) / total;
#pragma once

#include <cmath>
#include <limits>

#include "core/base/math.h"
#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {

template <class C>
struct SoftmaxSum {
  C highest, total;  // max_i x_i; sum_i exp(x_i - highest)
};

// Of n elements from number `start` on. `total` is NaN where an element is NaN or infinity, or all
// are -infinity.
template <class C>
__device__ SoftmaxSum<C> online_softmax(const Elements<C>& x, int64_t start, int64_t n) {
  C m = -std::numeric_limits<C>::infinity(), total = 0;
  const auto take = [&](C v) {
    if (v > m) {
      total = std::fma(total, math::exp_of_negative(m - v), C(1));
      m = v;
    } else {
      total += v == m ? C(1) : math::exp_of_negative(v - m);
    }
  };
  const int64_t end = start + n;
  for (int64_t i = first_pack(start); i < end; i += blockDim.x * kPack) {
    C values[kPack];
    x.get(i, end, values);
    for (int j = 0; j < kPack; ++j)
      if (i + j >= start && i + j < end) take(values[j]);
  }
  const C highest = over_block(m, Larger());
  total = over_block(m == highest ? total : total * math::exp_of_negative(m - highest), Plus());
  return {highest, total + (highest - highest)};
}

}  // namespace plimsoll::cuda
