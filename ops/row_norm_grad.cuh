// The gradients of layer_norm and rms_norm on a GPU, which differ by the mean alone.
//
//   row_norm_grad<true>({dy, x, gamma, &mean, inverse}, call.out, call.workspace);   // layer_norm
//
// With g = dy gamma and xhat = (x - mean) inverse, for each row and, below, over all rows
//   dx = inverse (g - mean(g) - xhat mean(g xhat))
//   dgamma = sum dy xhat,  dbeta = sum dy
// rms_norm has neither mean nor dbeta, nor therefore mean(g).
//
// Rows of up to kMostHeld columns are read once: a block takes one row after another, holds it in
// registers, and adds to sums of its own, which are then added up. Longer ones, and f64, are read
// three times.
#pragma once

#include <cmath>

#include "ops/columns.cuh"
#include "ops/layer_norm/attrs.h"
#include "ops/row_norm_grad.h"
#include "ops/rows.cuh"

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

static_assert(kMostHeld == int64_t{kHeld} * kHeldThreads * kTogether);

// sums: [blocks, {dgamma, dbeta}, n], without dbeta where there are no means. Which elements a
// thread has depends on n alone; `packs` says how they are moved. Products are added by fma: left
// to the compiler, kernels would contract differently.
template <bool kCentred>
__global__ void __launch_bounds__(kHeldThreads)
    held_rows_kernel(RowNorm<float> in, Elements<float> dx, bool packs, float* sums) {
  using Several = Elements<float>::Several;
  const int64_t width = neighbours(in.n);
  const auto first = [&](int h) { return (int64_t{blockDim.x} * h + threadIdx.x) * width; };
  const auto get = [&](const Elements<float>& of, int64_t i) {
    if (packs) return of.get_several(i);
    Several values = {};
#pragma unroll
    for (int j = 0; j < kTogether; ++j)
      if (j < width) values.at[j] = of.get(i + j);
    return values;
  };
  Several gamma[kHeld] = {}, dgamma[kHeld] = {}, dbeta[kHeld] = {};
#pragma unroll
  for (int h = 0; h < kHeld; ++h)
    if (first(h) < in.n) gamma[h] = get(in.gamma, first(h));
  for (int64_t row = blockIdx.x; row < in.rows; row += gridDim.x) {
    const auto normal = in.normal_of(row);
    Several dy[kHeld] = {}, xhat[kHeld] = {};
    float mean_g = 0, mean_gx = 0;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      if (first(h) >= in.n) continue;
      dy[h] = get(in.dy, row * in.n + first(h));
      const Several x = get(in.x, row * in.n + first(h));
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        if (j >= width) continue;
        const float d = dy[h].at[j], v = normal.of(x.at[j]);
        xhat[h].at[j] = v;
        if constexpr (kCentred) mean_g = std::fma(d, gamma[h].at[j], mean_g);
        mean_gx = std::fma(d * gamma[h].at[j], v, mean_gx);
        dgamma[h].at[j] = std::fma(d, v, dgamma[h].at[j]);
        dbeta[h].at[j] += d;
      }
    }
    if constexpr (kCentred) mean_g = over_block(mean_g, Plus()) / static_cast<float>(in.n);
    mean_gx = over_block(mean_gx, Plus()) / static_cast<float>(in.n);
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      if (first(h) >= in.n) continue;
      Several result;
#pragma unroll
      for (int j = 0; j < kTogether; ++j)
        result.at[j] = normal.inverse * std::fma(-xhat[h].at[j], mean_gx,
                                                 std::fma(dy[h].at[j], gamma[h].at[j], -mean_g));
      const int64_t i = row * in.n + first(h);
      if (packs) {
        dx.set_several(i, result);
        continue;
      }
#pragma unroll
      for (int j = 0; j < kTogether; ++j)
        if (j < width) dx.set(i + j, result.at[j]);
    }
  }
  float* const own = sums + blockIdx.x * (kCentred ? 2 : 1) * in.n;
#pragma unroll
  for (int h = 0; h < kHeld; ++h)
    for (int j = 0; j < kTogether; ++j) {
      if (first(h) >= in.n || j >= width) continue;
      own[first(h) + j] = dgamma[h].at[j];
      if (kCentred) own[in.n + first(h) + j] = dbeta[h].at[j];
    }
}

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

// A block for each row, which it reads twice.
template <class C, bool kCentred>
__global__ void long_rows_kernel(RowNorm<C> in, Elements<C> dx, bool packs) {
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
// row_norm_grad_bytes().
template <bool kCentred>
void row_norm_grad(const RowNormInputs& inputs, std::span<const View> out,
                   std::span<std::byte> workspace) {
  constexpr int kSums = kCentred ? 2 : 1;
  const View& dx = out[0];
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    const RowNorm<C> in(inputs);
    const StoreGradients<C, kSums> store{out[1].as<C>(), kCentred ? out[2].as<C>() : nullptr};
    const bool packs = in_packs(in.n, inputs.dy, inputs.x, inputs.gamma, dx);
    const int64_t pieces_of_row = in.n % kTogether == 0 ? in.n / kTogether : in.n;
    if constexpr (std::is_same_v<C, float>)
      if (pieces_of_row <= int64_t{kHeld} * kHeldThreads && in.n > 0) {
        if (in.rows > 0)
          launch(held_rows_kernel<kCentred>, row_blocks(in.rows),
                 whole_warps(pieces_of_row, kHeldThreads), in, elements<C>(dx), packs,
                 reinterpret_cast<float*>(workspace.data()));
        float* const totals[] = {store.dgamma, store.dbeta};
        return add_block_sums(workspace, in.rows, in.n, std::span(totals).first(kSums));
      }
    // First, because dx may take the memory of dy.
    sum_columns<kSums>(ColumnCut(in.rows, in.n), workspace.data(), AddElement<C, kSums>{in}, store);
    if (in.rows > 0)
      launch(long_rows_kernel<C, kCentred>, in.rows, row_threads(in.n), in, elements<C>(dx), packs);
  });
}

}  // namespace plimsoll::cuda
