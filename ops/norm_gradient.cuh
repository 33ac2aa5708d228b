// The gradient of layer_norm and rms_norm by one row on a GPU: what their own kernel
// (ops/row_norm_grad.cuh) and generated ones (ops/element_rows.cuh) are made of.
//
//   const Normal<C> normal{Split<C>(mean), inverse};                 // of the forward pass
//   const GradientMeans<true, C> means(each, n);                     // called by a whole block
//   dx = means.gradient(dy, normal.of(x), gamma, inverse);
//
// each(f) calls f(dy, xhat, gamma) for the elements that fall to a thread. Products are added by
// fma: left to the compiler, kernels would contract differently.
#pragma once

#include <cmath>

#include "core/cuda/block.cuh"
#include "ops/layer_norm/attrs.h"

namespace plimsoll::norm_gradient {

// xhat = (x - mean) inverse. Without a mean that is x inverse, exactly.
template <class C>
struct Normal {
  layer_norm_detail::Split<C> mean;
  C inverse;
  __device__ C of(C x) const { return (x - mean.high - mean.rest) * inverse; }
};

// With g = dy gamma: mean(g), for a norm that subtracts a mean, and mean(g xhat).
template <bool kCentred, class C>
struct GradientMeans {
  C g = 0, gx = 0;

  template <class Each>
  __device__ GradientMeans(const Each& each, int64_t n) {
    each([&](C dy, C xhat, C gamma) {
      if constexpr (kCentred) g = std::fma(dy, gamma, g);
      gx = std::fma(dy * gamma, xhat, gx);
    });
    if constexpr (kCentred) g = cuda::over_block(g, cuda::Plus()) / static_cast<C>(n);
    gx = cuda::over_block(gx, cuda::Plus()) / static_cast<C>(n);
  }

  // dx = inverse (dy gamma - mean(g) - xhat mean(g xhat))
  __device__ C gradient(C dy, C xhat, C gamma, C inverse) const {
    return inverse * std::fma(-xhat, gx, std::fma(dy, gamma, -g));
  }
};

}  // namespace plimsoll::norm_gradient
