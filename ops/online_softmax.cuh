// The maximum of a row and the sum of its exponentials in one pass (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018).
//
//   const auto [highest, total] = online_softmax(n, packs, row);   // by a whole block
//   p = math::exp_of_negative(x - highest) / total;
#pragma once

#include <cmath>
#include <limits>

#include "core/math.h"
#include "ops/rows.cuh"

namespace plimsoll::cuda {

template <class C>
struct SoftmaxSum {
  C highest, total;  // max_i x_i; sum_i exp(x_i - highest)
};

// Of a row of n. `total` is NaN where an element is NaN or infinity, or all are -infinity.
template <class C>
__device__ SoftmaxSum<C> online_softmax(int64_t n, bool packs, const Row<C>& row) {
  C m = -std::numeric_limits<C>::infinity(), total = 0;
  read_row(
      n, packs,
      [&](int64_t, C v) {
        if (v > m) {
          total = std::fma(total, math::exp_of_negative(m - v), C(1));
          m = v;
        } else {
          total += v == m ? C(1) : math::exp_of_negative(v - m);
        }
      },
      row);
  const C highest = over_block(m, Larger());
  total = over_block(m == highest ? total : total * math::exp_of_negative(m - highest), Plus());
  return {highest, total + (highest - highest)};
}

}  // namespace plimsoll::cuda
