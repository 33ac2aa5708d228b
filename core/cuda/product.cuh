// The tiled matrix product, over operands that say themselves where their elements lie: matrices,
// or the windows of a convolution.
//
//   struct Doubling {                                    // c[i, j] = sum_k 2 x[i, k] y[k, j]
//     bool a_along_k = true, b_along_k = false;          // where neighbours in k lie side by side
//     __device__ void enter(int64_t batch) {}            // before anything else
//     __device__ float a(int64_t i, int64_t k) const { return 2 * x[i * depth + k]; }
//     __device__ float b(int64_t k, int64_t j) const { return y[k * columns + j]; }
//     __device__ void store(int64_t i, int64_t j, float sum) const { c[i * columns + j] = sum; }
//   };
//   run_product<float>(Doubling{...}, 1, m, n, k, workspace);
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/product.h"

namespace plimsoll::cuda {

struct ProductSizes {
  int64_t batch, m, n, k;
  ProductCut cut;
};

// A block makes a tile of 64 x 64 results, each thread 4 x 4 of them, 16 apart: neighbouring
// threads write neighbouring results.
constexpr int kTileSize = ProductCut::kTile, kTileDepth = 16, kEach = 4;
constexpr int kTileThreads = kTileSize / kEach;  // along each axis

// The elements read(i, k) of a tile, 0 beyond the limits. along_k: neighbouring threads read
// neighbours in k, else neighbours in i.
template <class C, class Read>
__device__ void fill_tile(C (&tile)[kTileDepth][kTileSize + 1], bool along_k, int64_t limit,
                          int64_t depth, const Read& read) {
  for (int e = static_cast<int>(threadIdx.x); e < kTileDepth * kTileSize; e += kThreads) {
    const int k = along_k ? e % kTileDepth : e / kTileSize;
    const int i = along_k ? e / kTileDepth : e % kTileSize;
    tile[k][i] = i < limit && k < depth ? read(i, k) : C(0);
  }
}

// partial: where the parts of cut sums go, [splits, batch, m, n]; nullptr: they are whole.
template <class C, class P>
__global__ void __launch_bounds__(kThreads) product_kernel(P p, ProductSizes s, C* partial) {
  __shared__ C a[kTileDepth][kTileSize + 1], b[kTileDepth][kTileSize + 1];
  int64_t block = blockIdx.x;
  const int64_t column = block % s.cut.columns * kTileSize;
  block /= s.cut.columns;
  const int64_t row = block % s.cut.rows * kTileSize;
  block /= s.cut.rows;
  const int64_t split = block % s.cut.splits, batch = block / s.cut.splits;
  const int64_t end = s.k < (split + 1) * s.cut.depth ? s.k : (split + 1) * s.cut.depth;
  const int across = threadIdx.x % kTileThreads, down = threadIdx.x / kTileThreads;
  p.enter(batch);
  C sum[kEach][kEach] = {};
  for (int64_t k = split * s.cut.depth; k < end; k += kTileDepth) {
    __syncthreads();  // whoever still reads the tiles before
    fill_tile(a, p.a_along_k, s.m - row, end - k,
              [&](int64_t i, int64_t t) { return p.a(row + i, k + t); });
    fill_tile(b, p.b_along_k, s.n - column, end - k,
              [&](int64_t j, int64_t t) { return p.b(k + t, column + j); });
    __syncthreads();
#pragma unroll
    for (int t = 0; t < kTileDepth; ++t) {
      C x[kEach], y[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        x[i] = a[t][down + i * kTileThreads];
        y[i] = b[t][across + i * kTileThreads];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] += x[i] * y[j];
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t at_row = row + down + i * kTileThreads;
      const int64_t at_column = column + across + j * kTileThreads;
      if (at_row >= s.m || at_column >= s.n) continue;
      if (partial)
        partial[((split * s.batch + batch) * s.m + at_row) * s.n + at_column] = sum[i][j];
      else
        p.store(at_row, at_column, sum[i][j]);
    }
}

template <class C, class P>
__global__ void add_parts_kernel(P p, ProductSizes s, const C* partial) {
  const int64_t matrix = s.m * s.n, all = s.batch * matrix;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    C sum = 0;
    for (int64_t split = 0; split < s.cut.splits; ++split) sum += partial[split * all + e];
    P own = p;
    own.enter(e / matrix);
    own.store(e % matrix / s.n, e % s.n, sum);
  }
}

template <class C, class P>
void run_product(const P& p, int64_t batch, int64_t m, int64_t n, int64_t k, std::byte* workspace) {
  if (batch * m * n == 0) return;
  const ProductSizes s{batch, m, n, k, ProductCut(batch, m, n, k)};
  C* const partial = s.cut.splits > 1 ? reinterpret_cast<C*>(workspace) : nullptr;
  launch(product_kernel<C, P>, batch * s.cut.rows * s.cut.columns * s.cut.splits, kThreads, p, s,
         partial);
  if (partial) launch(add_parts_kernel<C, P>, blocks_for(batch * m * n), kThreads, p, s, partial);
}

}  // namespace plimsoll::cuda
