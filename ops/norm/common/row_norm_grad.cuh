// The gradients of layer_norm and rms_norm on a GPU, which differ by the mean alone.
//
//   row_norm_grad<true>({dy, x, gamma, &mean, inverse}, call.out, call.workspace);   // layer_norm
//
// With g = dy gamma and xhat = (x - mean) inverse, for each row
//   dx = inverse (g - mean(g) - xhat mean(g xhat))
// rms_norm has neither mean nor dbeta, nor therefore mean(g).
#pragma once

#include <cmath>

#include "ops/norm/common/parameter_grad.cuh"
#include "ops/norm/layer_norm/attrs.h"

namespace plimsoll::cuda {

// Threads of a block that has a row of n elements: with four packs for each more rows are under way
// at once.
inline int norm_threads(int64_t n) { return row_threads(packs_in(n) / 4); }

// xhat of elements. Without a mean that is x inverse, exactly.
template <class C>
struct RowNormal {
  Elements<C> x;
  const double* means;  // nullptr: there are none
  const C* inverses;
  __device__ C of(C value, int64_t, int64_t row) const {
    const layer_norm_detail::Split<C> mean(means ? means[row] : 0.0);
    return (value - mean.high - mean.rest) * inverses[row];
  }
  __device__ static C gradient(C dy, C, int64_t) { return dy; }
};

// A block for each row of n.
template <class C, bool kCentred>
__global__ void row_gradients_kernel(Elements<C> dy, RowNormal<C> normal, Elements<C> gamma,
                                     Elements<C> dx, int64_t n) {
  const int64_t row = blockIdx.x, start = row * n, end = start + n;
  const int64_t own = start + threadIdx.x * kPack, stride = blockDim.x * kPack;
  C d[kPack], values[kPack], scale[kPack], sum_g = 0, sum_gx = 0;
  const auto read = [&](int64_t i) {
    dy.get(i, end, d);
    normal.x.get(i, end, values);
    gamma.get(i - start, n, scale);
  };
  for (int64_t i = own; i < end; i += stride) {
    read(i);
    for (int j = 0; j < kPack && i + j < end; ++j) {
      const C g = d[j] * scale[j];
      sum_g += g;
      sum_gx += g * normal.of(values[j], 0, row);
    }
  }
  const C mean_g = kCentred ? over_block(sum_g, Plus()) / static_cast<C>(n) : 0;
  const C mean_gx = over_block(sum_gx, Plus()) / static_cast<C>(n);
  for (int64_t i = own; i < end; i += stride) {
    read(i);
    for (int j = 0; j < kPack; ++j)
      d[j] = normal.inverses[row] *
             (d[j] * scale[j] - mean_g - normal.of(values[j], 0, row) * mean_gx);
    dx.set(i, end, d);
  }
}

struct RowNormInputs {
  const View &dy, &x, &gamma;
  const View* mean;  // f64; nullptr: there is none
  const View& inverse;
};

// out: dx, which may take the memory of dy, dgamma and, with a mean, dbeta. The workspace is that
// of parameter_gradients().
template <bool kCentred>
void row_norm_grad(const RowNormInputs& in, std::span<const View> out,
                   std::span<std::byte> workspace) {
  const View& dx = out[0];
  const int64_t rows = count(in.inverse.shape()), n = in.gamma.shape()[0];
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    const RowNormal<C> normal{elements<C>(in.x), in.mean ? in.mean->as<double>() : nullptr,
                              in.inverse.as<C>()};
    // First, because dx may take the memory of dy.
    parameter_gradients<C>(rows, n, in.dy, normal, out[1].as<C>(),
                           kCentred ? out[2].as<C>() : nullptr, workspace);
    if (rows > 0)
      launch(row_gradients_kernel<C, kCentred>, rows, norm_threads(n), elements<C>(in.dy), normal,
             elements<C>(in.gamma), elements<C>(dx), n);
  });
}

}  // namespace plimsoll::cuda
