// rms_norm of one row on a GPU: what its own kernel and generated ones (ops/element_rows.cuh) are
// made of.
//
//   const rms_norm_detail::RowStatistics<C> s(each, n, eps);   // called by a whole block
//   y = s.normal(x, gamma);
//
// each(f) calls f(x) for the elements that fall to a thread.
#pragma once

#include <cmath>

#include "core/cuda/block.cuh"

namespace plimsoll::rms_norm_detail {

template <class C>
struct RowStatistics {
  C inverse;  // 1 / sqrt(mean of squares + eps)

  template <class Each>
  __device__ RowStatistics(const Each& each, int64_t n, double eps) {
    C squares = 0;
    each([&](C v) { squares = std::fma(v, v, squares); });
    const double mean =
        static_cast<double>(cuda::over_block(squares, cuda::Plus())) / static_cast<double>(n);
    inverse = static_cast<C>(1 / std::sqrt(mean + eps));
  }

  __device__ C normal(C v, C scale) const { return v * inverse * scale; }
};

}  // namespace plimsoll::rms_norm_detail
