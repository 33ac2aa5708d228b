// Work down the columns of a matrix [R, D], a thread for N neighbouring columns, which it moves at
// once, and some rows: what ops/columns.cuh does for single columns, where that pays.
//
//   template <int N>
//   struct Squares {                                   // adds up what a thread's elements give
//     const float* x;
//     __device__ void operator()(const PackRows& own, double (&total)[1][N]) const {
//       for (int64_t i = own.first; i < own.last; i += own.stride) {
//         const auto pack = load<N>(x + i);
//         for (int j = 0; j < N; ++j) total[0][j] += pack.at[j] * pack.at[j];
//       }
//     }
//   };
//   sum_packs<1, N>(cut, call.workspace.data(), Squares<N>{..}, Store{..});   // Store: columns.cuh
//   for_packs<N>(cut, Scale<N>{..});                   // operator()(own): the same without sums
#pragma once

#include "core/cuda/convert.cuh"
#include "ops/column_packs.h"
#include "ops/columns.cuh"

namespace plimsoll::cuda {

// A thread's elements: N of each row, the first of which are number first, first + stride, ...
struct PackRows {
  int64_t column, first, last, stride;
};

template <int N, class T>
__device__ Pack<T, N> load(const T* p) {
  return *reinterpret_cast<const Pack<T, N>*>(p);
}
template <int N, class T>
__device__ void store(T* p, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(p) = pack;
}

// PackCut as kernels need it.
struct PackBlocks {
  int64_t rows, columns, step, tiles;
  int across, lanes;
  explicit PackBlocks(const PackCut& cut)
      : rows(cut.rows),
        columns(cut.columns),
        step(cut.step()),
        tiles(cut.tiles()),
        across(static_cast<int>(cut.across())),
        lanes(static_cast<int>(cut.lanes())) {}

  template <int N>
  __device__ PackRows own() const {
    const int64_t chunk = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int64_t column = (tile * across + threadIdx.x % across) * N;
    const int64_t row = chunk * step + threadIdx.x / across;
    const int64_t end = chunk * step + step < rows ? chunk * step + step : rows;
    return {column, row * columns + column, end * columns, lanes * columns};
  }
};

template <int K, int N, class Add>
__global__ void pack_sums_kernel(PackBlocks blocks, Add add, double* sums) {
  __shared__ double of_lane[K][kPackThreads * N];
  const PackRows own = blocks.own<N>();
  double total[K][N] = {};
  if (own.column < blocks.columns) add(own, total);
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j) of_lane[k][threadIdx.x * N + j] = total[k][j];
  __syncthreads();
  const int width = blocks.across * N, place = threadIdx.x;
  const int64_t chunk = blockIdx.x / blocks.tiles;
  const int64_t column = blockIdx.x % blocks.tiles * width + place;
  if (place >= width || column >= blocks.columns) return;
  for (int k = 0; k < K; ++k) {
    double sum = 0;
    for (int lane = 0; lane < blocks.lanes; ++lane) sum += of_lane[k][lane * width + place];
    sums[(chunk * K + k) * blocks.columns + column] = sum;
  }
}

// `workspace` has cut.sums_bytes(K).
template <int K, int N, class Add, class Store>
void sum_packs(const PackCut& cut, std::byte* workspace, const Add& add, const Store& store) {
  const ChunkSums<K> sums{reinterpret_cast<double*>(workspace), cut.columns};
  launch(pack_sums_kernel<K, N, Add>, cut.blocks(), kPackThreads, PackBlocks(cut), add, sums.sums);
  launch(column_sums_kernel<K, AddChunk<K>, Store>, pieces(cut.columns, kColumns),
         kColumns * kRowLanes, cut.chunks(), cut.columns, cut.chunks(), 1, AddChunk<K>{sums},
         store);
}

template <int N, class F>
__global__ void packs_kernel(PackBlocks blocks, F f) {
  const PackRows own = blocks.own<N>();
  if (own.column < blocks.columns) f(own);
}

template <int N, class F>
void for_packs(const PackCut& cut, const F& f) {
  launch(packs_kernel<N, F>, cut.blocks(), kPackThreads, PackBlocks(cut), f);
}

}  // namespace plimsoll::cuda
