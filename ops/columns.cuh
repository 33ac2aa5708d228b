// Sums down the columns of a matrix [R, D], several at once, in two stages: a block adds up a chunk
// of rows for kColumns neighbouring columns, then the chunks' sums are added up in the same way.
// Chunks depend on the sizes alone, so results are the same in every run. Sums are in double.
//
//   struct Squares {                                       // adds what one element contributes
//     Elements<float> x;
//     int64_t columns;
//     __device__ void operator()(int64_t row, int64_t column, double (&total)[1]) const {
//       const double v = x.get(row * columns + column);
//       total[0] += v * v;
//     }
//   };
//   struct Store {                                         // gets the totals of a column
//     float* y;
//     __device__ void operator()(int64_t column, const double (&total)[1]) const {
//       y[column] = static_cast<float>(total[0]);
//     }
//   };
//   sum_columns<1>(rows, columns, call.workspace.data(), Squares{x, columns}, Store{y});
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/columns.h"

namespace plimsoll::cuda {

template <int K, class Add, class Store>
__global__ void column_sums_kernel(int64_t rows, int64_t columns, int64_t step, Add add,
                                   Store store) {
  __shared__ double of_lane[K][kRowLanes][kColumns];
  const int64_t tiles = (columns + kColumns - 1) / kColumns;
  const int64_t chunk = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  const int lane = threadIdx.x / kColumns, place = threadIdx.x % kColumns;
  const int64_t column = tile * kColumns + place;
  const int64_t end = rows < (chunk + 1) * step ? rows : (chunk + 1) * step;
  double total[K] = {};
  if (column < columns)
    for (int64_t row = chunk * step + lane; row < end; row += kRowLanes) add(row, column, total);
  for (int k = 0; k < K; ++k) of_lane[k][lane][place] = total[k];
  __syncthreads();
  if (lane > 0 || column >= columns) return;
  for (int k = 0; k < K; ++k)
    for (int other = 1; other < kRowLanes; ++other) total[k] += of_lane[k][other][place];
  if constexpr (requires { store(chunk, column, total); })
    store(chunk, column, total);
  else
    store(column, total);
}

// The sums of chunks, [chunks, K, D], as what the first stage stores and the second adds up.
template <int K>
struct ChunkSums {
  double* sums;
  int64_t columns;
  __device__ double* at(int64_t chunk, int64_t column) const {
    return sums + chunk * K * columns + column;
  }
};
template <int K>
struct StoreChunk : ChunkSums<K> {
  __device__ void operator()(int64_t chunk, int64_t column, const double (&total)[K]) const {
    for (int k = 0; k < K; ++k) this->at(chunk, column)[k * this->columns] = total[k];
  }
};
template <int K>
struct AddChunk : ChunkSums<K> {
  __device__ void operator()(int64_t chunk, int64_t column, double (&total)[K]) const {
    for (int k = 0; k < K; ++k) total[k] += this->at(chunk, column)[k * this->columns];
  }
};

template <int K, class Add, class Store>
void sum_columns(int64_t rows, int64_t columns, std::byte* workspace, const Add& add,
                 const Store& store) {
  const int64_t tiles = column_tiles(columns), chunks = column_chunks(rows, columns);
  if (tiles == 0) return;
  const ChunkSums<K> sums{reinterpret_cast<double*>(workspace), columns};
  launch(column_sums_kernel<K, Add, StoreChunk<K>>, tiles * chunks, kColumns * kRowLanes, rows,
         columns, column_step(rows, columns), add, StoreChunk<K>{sums});
  launch(column_sums_kernel<K, AddChunk<K>, Store>, tiles, kColumns * kRowLanes, chunks, columns,
         chunks, AddChunk<K>{sums}, store);
}

}  // namespace plimsoll::cuda
