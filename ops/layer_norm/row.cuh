// layer_norm of one row on a GPU: what its own kernel and generated ones (ops/element_rows.cuh) are
// made of.
//
//   const layer_norm_detail::RowStatistics<C> s(each, n, eps);   // called by a whole block
//   y = s.normal(x, gamma, beta);
//
// each(f) calls f(x) for the elements that fall to a thread, the same ones in every pass. Products
// are added by fma: left to the compiler, which of two products keeps its digits depends on how
// loops are unrolled.
#pragma once

#include <cmath>

#include "core/cuda/block.cuh"
#include "ops/layer_norm/attrs.h"

namespace plimsoll::layer_norm_detail {

template <class C>
struct RowStatistics {
  double mean;
  C inverse;  // 1 / sqrt(variance + eps)
  Split<C> split;

  // As on the CPU, the mean of the deviations from a first mean corrects it and the variance.
  template <class Each>
  __device__ RowStatistics(const Each& each, int64_t n, double eps) : split(0) {
    C sum = 0, first = 0, second = 0;
    each([&](C v) { sum += v; });
    const C about = cuda::over_block(sum, cuda::Plus()) / static_cast<C>(n);
    each([&](C v) {
      const C d = v - about;
      first += d;
      second = std::fma(d, d, second);
    });
    const auto count = static_cast<double>(n);
    const double correction = static_cast<double>(cuda::over_block(first, cuda::Plus())) / count;
    const double variance = static_cast<double>(cuda::over_block(second, cuda::Plus())) / count -
                            correction * correction;
    mean = static_cast<double>(about) + correction;
    inverse = static_cast<C>(1 / std::sqrt((variance < 0 ? 0 : variance) + eps));
    split = Split<C>(mean);
  }

  __device__ C normal(C v, C scale, C shift) const {
    return (v - split.high - split.rest) * inverse * scale + shift;
  }
};

}  // namespace plimsoll::layer_norm_detail
