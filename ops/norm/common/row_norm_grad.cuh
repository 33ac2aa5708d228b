// The gradients of layer_norm and rms_norm on a GPU, which differ by the mean alone.
//
//   row_norm_grad<true>({dy, x, gamma, &mean, inverse}, call.out, call.workspace);   // layer_norm
//
// With g = dy gamma and xhat = (x - mean) inverse, for each row and, below, over all rows
//   dx = inverse (g - mean(g) - xhat mean(g xhat))
//   dgamma = sum dy xhat,  dbeta = sum dy
// rms_norm has neither mean nor dbeta, nor therefore mean(g).
//
// The parameters' gradients are sums down the columns, made first, as dx may take the memory of dy;
// then a block for each row reads it twice.
#pragma once

#include <cmath>

#include "ops/common/rows.cuh"
#include "ops/norm/common/columns.cuh"
#include "ops/norm/layer_norm/attrs.h"

namespace plimsoll::cuda {

// xhat = (x - mean) inverse. Without a mean that is x inverse, exactly.
template <class C>
struct Normal {
  layer_norm_detail::Split<C> mean;
  C inverse;
  __device__ C of(C x) const { return (x - mean.high - mean.rest) * inverse; }
};

struct RowNormInputs {
  const View &dy, &x, &gamma;
  const View* mean;  // f64; nullptr: there is none
  const View& inverse;
};

template <class C>
struct RowNorm {
  Elements<C> dy, x, gamma;
  const double* means;
  const C* inverses;
  int64_t rows, n;

  explicit RowNorm(const RowNormInputs& in)
      : dy(elements<C>(in.dy)),
        x(elements<C>(in.x)),
        gamma(elements<C>(in.gamma)),
        means(in.mean ? in.mean->as<double>() : nullptr),
        inverses(in.inverse.as<C>()),
        rows(count(in.inverse.shape())),
        n(in.gamma.shape()[0]) {}

  __device__ Normal<C> normal_of(int64_t row) const {
    return {layer_norm_detail::Split<C>(means ? means[row] : 0.0), inverses[row]};
  }
};

// What an element adds.
template <class C, int kSums>
struct AddElement {
  RowNorm<C> in;
  __device__ void operator()(int64_t row, int64_t column, double (&total)[kSums]) const {
    const int64_t i = row * in.n + column;
    const C d = in.dy.get(i);
    total[0] += static_cast<double>(d * in.normal_of(row).of(in.x.get(i)));
    if constexpr (kSums > 1) total[1] += static_cast<double>(d);
  }
};

template <class C, int kSums>
struct StoreGradients {
  C *dgamma, *dbeta;
  __device__ void operator()(int64_t, int64_t column, const double (&total)[kSums]) const {
    dgamma[column] = static_cast<C>(total[0]);
    if constexpr (kSums > 1) dbeta[column] = static_cast<C>(total[1]);
  }
};

template <class C, bool kCentred>
__global__ void row_gradients_kernel(RowNorm<C> in, Elements<C> dx, bool packs) {
  const int64_t at = blockIdx.x * in.n;
  const Row<C> dy{in.dy, at}, x{in.x, at}, gamma{in.gamma, 0};
  const auto normal = in.normal_of(blockIdx.x);
  C sum_g = 0, sum_gx = 0;
  read_row(
      in.n, packs,
      [&](int64_t, C d, C v, C s) {
        const C g = d * s;
        sum_g += g;
        sum_gx += g * normal.of(v);
      },
      dy, x, gamma);
  const C mean_g = kCentred ? over_block(sum_g, Plus()) / static_cast<C>(in.n) : 0;
  const C mean_gx = over_block(sum_gx, Plus()) / static_cast<C>(in.n);
  write_row(
      in.n, packs, Row<C>{dx, at},
      [&](int64_t, C d, C v, C s) {
        return normal.inverse * (d * s - mean_g - normal.of(v) * mean_gx);
      },
      dy, x, gamma);
}

// out: dx, which may take the memory of dy, dgamma and, with a mean, dbeta. `workspace` has
// ColumnCut(rows, columns).sums_bytes() for one sum of each column, or two with a mean.
template <bool kCentred>
void row_norm_grad(const RowNormInputs& inputs, std::span<const View> out,
                   std::span<std::byte> workspace) {
  constexpr int kSums = kCentred ? 2 : 1;
  const View& dx = out[0];
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    const RowNorm<C> in(inputs);
    const StoreGradients<C, kSums> store{out[1].as<C>(), kCentred ? out[2].as<C>() : nullptr};
    const bool packs = in_packs(in.n, inputs.dy, inputs.x, inputs.gamma, dx);
    // First, because dx may take the memory of dy.
    sum_columns<kSums>(ColumnCut(in.rows, in.n), workspace.data(), AddElement<C, kSums>{in}, store);
    if (in.rows > 0)
      launch(row_gradients_kernel<C, kCentred>, in.rows, row_threads(in.n), in, elements<C>(dx),
             packs);
  });
}

}  // namespace plimsoll::cuda
