// The maximum of a row and the sum of its exponentials in one pass (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018). Kernels that are compiled at run time read this
// header too.
//
//   const auto [highest, total] = online_softmax<C>(each_of(n, packs, row));   // by a whole block
//   p = math::exp_of_negative(x - highest) / total;
#pragma once

#include <cmath>
#include <limits>

#include "core/cuda/block.cuh"
#include "core/math.h"

namespace plimsoll::cuda {

template <class C>
struct SoftmaxSum {
  C highest, total;  // max_i x_i; sum_i exp(x_i - highest)
};

// each(f) calls f(x) for the elements that fall to a thread. `total` is NaN where an element is NaN
// or infinity, or all are -infinity.
template <class C, class Each>
__device__ SoftmaxSum<C> online_softmax(const Each& each) {
  C m = -std::numeric_limits<C>::infinity(), total = 0;
  each([&](C v) {
    if (v > m) {
      total = std::fma(total, math::exp_of_negative(m - v), C(1));
      m = v;
    } else {
      total += v == m ? C(1) : math::exp_of_negative(v - m);
    }
  });
  const C highest = over_block(m, Larger());
  total = over_block(m == highest ? total : total * math::exp_of_negative(m - highest), Plus());
  return {highest, total + (highest - highest)};
}

}  // namespace plimsoll::cuda
