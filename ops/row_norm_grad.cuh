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

#include "ops/columns.cuh"
#include "ops/layer_norm/attrs.h"
#include "ops/row_norm_grad.h"
#include "ops/rows.cuh"

namespace plimsoll::cuda {

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

  // (v - mean) / deviation for elements v of a row. Without a mean that is v / deviation, exactly.
  struct Statistics {
    layer_norm_detail::Split<C> mean;
    C inverse;
    __device__ C normal(C v) const { return (v - mean.high - mean.rest) * inverse; }
  };
  __device__ Statistics of_row(int64_t row) const {
    return {layer_norm_detail::Split<C>(means ? means[row] : 0.0), inverses[row]};
  }
};

static_assert(kMostHeld == int64_t{kHeld} * kHeldThreads * kTogether);

// sums: [blocks, {dgamma, dbeta}, n], without dbeta where there are no means.
template <bool kCentred>
__global__ void __launch_bounds__(kHeldThreads)
    held_rows_kernel(RowNorm<float> in, Elements<float> dx, bool packs, float* sums) {
  using Several = Elements<float>::Several;
  const int64_t width = packs ? kTogether : 1;
  const auto first = [&](int h) { return (int64_t{blockDim.x} * h + threadIdx.x) * width; };
  const auto columns = [&](const Elements<float>& of, int h) {
    return FewColumns<float>{of, in.n, first(h), packs};
  };
  Several gamma[kHeld] = {}, dgamma[kHeld] = {}, dbeta[kHeld] = {};
#pragma unroll
  for (int h = 0; h < kHeld; ++h)
    if (first(h) < in.n) gamma[h] = columns(in.gamma, h).get(0);
  for (int64_t row = blockIdx.x; row < in.rows; row += gridDim.x) {
    const auto statistics = in.of_row(row);
    Several g[kHeld] = {}, xhat[kHeld] = {};
    float sum_g = 0, sum_gx = 0;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      if (first(h) >= in.n) continue;
      const Several d = columns(in.dy, h).get(row), x = columns(in.x, h).get(row);
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        g[h].at[j] = d.at[j] * gamma[h].at[j];
        xhat[h].at[j] = statistics.normal(x.at[j]);
        if (j >= width) continue;  // nothing is there, and 0 may be far from the mean
        sum_g += g[h].at[j];
        sum_gx += g[h].at[j] * xhat[h].at[j];
        dgamma[h].at[j] += d.at[j] * xhat[h].at[j];
        dbeta[h].at[j] += d.at[j];
      }
    }
    const auto n = static_cast<float>(in.n);
    const float mean_g = kCentred ? over_block(sum_g, Plus()) / n : 0;
    const float mean_gx = over_block(sum_gx, Plus()) / n;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      if (first(h) >= in.n) continue;
      Several result;
#pragma unroll
      for (int j = 0; j < kTogether; ++j)
        result.at[j] = statistics.inverse * (g[h].at[j] - mean_g - xhat[h].at[j] * mean_gx);
      columns(dx, h).set(row, result);
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

// What a block's sums add to those of a column.
template <int kSums>
struct AddHeld {
  const float* sums;
  int64_t n;
  __device__ void operator()(int64_t block, int64_t column, double (&total)[kSums]) const {
    for (int k = 0; k < kSums; ++k)
      total[k] += static_cast<double>(sums[(block * kSums + k) * n + column]);
  }
};

// What an element adds.
template <class C, int kSums>
struct AddElement {
  RowNorm<C> in;
  __device__ void operator()(int64_t row, int64_t column, double (&total)[kSums]) const {
    const int64_t i = row * in.n + column;
    const C d = in.dy.get(i);
    total[0] += static_cast<double>(d * in.of_row(row).normal(in.x.get(i)));
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
  const auto statistics = in.of_row(blockIdx.x);
  C sum_g = 0, sum_gx = 0;
  read_row(
      in.n, packs,
      [&](int64_t, C d, C v, C s) {
        const C g = d * s;
        sum_g += g;
        sum_gx += g * statistics.normal(v);
      },
      dy, x, gamma);
  const C mean_g = kCentred ? over_block(sum_g, Plus()) / static_cast<C>(in.n) : 0;
  const C mean_gx = over_block(sum_gx, Plus()) / static_cast<C>(in.n);
  write_row(
      in.n, packs, Row<C>{dx, at},
      [&](int64_t, C d, C v, C s) {
        return statistics.inverse * (d * s - mean_g - statistics.normal(v) * mean_gx);
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
    const int64_t pieces_of_row = packs ? in.n / kTogether : in.n;
    if constexpr (std::is_same_v<C, float>)
      if (pieces_of_row <= int64_t{kHeld} * kHeldThreads && in.n > 0) {
        auto* const sums = reinterpret_cast<float*>(workspace.data());
        const int64_t blocks = held_blocks(in.rows);
        const int threads = whole_warps(pieces_of_row, kHeldThreads);
        if (blocks > 0)
          launch(held_rows_kernel<kCentred>, blocks, threads, in, elements<C>(dx), packs, sums);
        return sum_columns<kSums>(
            ColumnCut(blocks, in.n),
            workspace.data() + block_bytes(blocks * kSums * in.n * int64_t{sizeof(float)}),
            AddHeld<kSums>{sums, in.n}, store);
      }
    // First, because dx may take the memory of dy.
    sum_columns<kSums>(ColumnCut(in.rows, in.n), workspace.data(), AddElement<C, kSums>{in}, store);
    if (in.rows > 0)
      launch(long_rows_kernel<C, kCentred>, in.rows, row_threads(in.n), in, elements<C>(dx), packs);
  });
}

}  // namespace plimsoll::cuda
