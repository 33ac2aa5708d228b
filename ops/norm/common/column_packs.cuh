// Work down the columns of a matrix [R, D], a thread for N neighbouring columns and some rows: what
// ops/norm/common/columns.cuh does for single columns, where that pays. Which elements a thread has depends on
// the cut alone; `packs` says how they are moved: N at once, or one by one where they lie at other
// addresses (in_packs()).
//
//   template <int N>
//   struct Squares {                                   // adds up what a thread's elements give
//     Elements<float> x;
//     __device__ void operator()(const PackRows& own, double (&total)[1][N]) const {
//       own.visit<N>(x, [&]<class T, class Pack>() {   // T: in memory; Pack: N of them
//         for (int64_t i = own.first; i < own.last; i += own.stride) {
//           const auto pack = load<Pack>(at<T>(x) + i);
//           for (int j = 0; j < N; ++j) total[0][j] += to_register<float>(pack.at[j]) * ..;
//         }
//       });
//     }
//   };
//   sum_packs<1, N>(cut, packs, call.workspace.data(), Squares<N>{..}, Store{..});  // columns.cuh
//   for_packs<N>(cut, packs, Scale<N>{..});            // operator()(own): the same without sums
#pragma once

#include "core/cuda/elements.cuh"
#include "ops/norm/common/column_packs.h"
#include "ops/norm/common/columns.cuh"

namespace plimsoll::cuda {

static_assert(kMostNeighbours == kTogether);

// N neighbours that are moved one by one.
template <class T, int N>
struct Singles {
  T at[N];
};

// A thread's elements: N of each row, the first of which are number first, first + stride, ...
struct PackRows {
  int64_t column, first, last, stride;
  bool packs;

  // Calls f.template operator()<T, P>(): T is the type of x in memory, P what N of them are moved
  // as.
  template <int N, class C, class F>
  __device__ void visit(const Elements<C>& x, const F& f) const {
    x.visit([&]<class T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        if constexpr (N > 1)
          if (packs) return f.template operator()<T, Pack<T, N>>();
        f.template operator()<T, Singles<T, N>>();
      }
    });
  }
};

template <class T, class C>
__device__ T* at(const Elements<C>& elements) {
  return reinterpret_cast<T*>(elements.data);
}
template <class P, class T>
__device__ P load(const T* p) {
  return *reinterpret_cast<const P*>(p);
}
template <class P, class T>
__device__ void store(T* p, const P& pack) {
  *reinterpret_cast<P*>(p) = pack;
}

// PackCut as kernels need it.
struct PackBlocks {
  int64_t rows, columns, step, tiles;
  int across, lanes;
  bool packs;
  PackBlocks(const PackCut& cut, bool in_packs)
      : rows(cut.rows),
        columns(cut.columns),
        step(cut.step()),
        tiles(cut.tiles()),
        across(static_cast<int>(cut.across())),
        lanes(static_cast<int>(cut.lanes())),
        packs(in_packs) {}

  template <int N>
  __device__ PackRows own() const {
    const int64_t chunk = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int64_t column = (tile * across + threadIdx.x % across) * N;
    const int64_t row = chunk * step + threadIdx.x / across;
    const int64_t end = chunk * step + step < rows ? chunk * step + step : rows;
    return {column, row * columns + column, end * columns, lanes * columns, packs};
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
void sum_packs(const PackCut& cut, bool packs, std::byte* workspace, const Add& add,
               const Store& store) {
  const ChunkSums<K> sums{reinterpret_cast<double*>(workspace), cut.columns};
  launch(pack_sums_kernel<K, N, Add>, cut.blocks(), kPackThreads, PackBlocks(cut, packs), add,
         sums.sums);
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
void for_packs(const PackCut& cut, bool packs, const F& f) {
  launch(packs_kernel<N, F>, cut.blocks(), kPackThreads, PackBlocks(cut, packs), f);
}

}  // namespace plimsoll::cuda
