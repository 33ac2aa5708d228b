// softmax and log_softmax of one row on a GPU, and their gradients: what their own kernels and
// generated ones (ops/element_rows.cuh) are made of.
//
//   const softmax_detail::RowSums<kLog, C> s(each);   // called by a whole block
//   y = s.result(x);
//
// each(f) calls f(x) for the elements that fall to a thread, for a gradient f(dy, y).
#pragma once

#include "ops/online_softmax.cuh"

namespace plimsoll::softmax_detail {

template <bool kLog, class C>
struct RowSums {
  C highest, scale;  // max_i x_i; 1 / sum_i exp(x_i - highest), or the logarithm of that sum

  template <class Each>
  __device__ explicit RowSums(const Each& each) {
    const auto [most, total] = cuda::online_softmax<C>(each);
    highest = most;
    scale = kLog ? std::log(total) : 1 / total;
  }

  __device__ C result(C v) const {
    return kLog ? v - highest - scale : math::exp_of_negative(v - highest) * scale;
  }
};

template <bool kLog, class C>
struct GradientSum {
  C total;  // sum_i dy_i y_i, or sum_i dy_i

  template <class Each>
  __device__ explicit GradientSum(const Each& each) {
    C partial = 0;
    each([&](C g, C v) { partial = kLog ? partial + g : std::fma(g, v, partial); });
    total = cuda::over_block(partial, cuda::Plus());
  }

  __device__ C result(C g, C v) const { return kLog ? g - math::exp(v) * total : v * (g - total); }
};

}  // namespace plimsoll::softmax_detail
