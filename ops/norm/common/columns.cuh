// Work down the columns of matrices [batch, R, D], a block for a chunk of rows and kColumns
// neighbouring columns.
//
// sum_columns(): sums, several at once, in two stages: of chunks, then of the chunks' sums. Chunks
// depend on the sizes alone, so results are the same in every run. Sums are in double.
//
//   struct Squares {                                       // adds what one element contributes
//     Elements<float> x;
//     int64_t columns;
//     __device__ void operator()(int64_t row, int64_t column, double (&total)[1]) const {
//       const double v = x.get(row * columns + column);    // rows are numbered through the batch
//       total[0] += v * v;
//     }
//   };
//   struct Store {                                         // gets the totals of a column
//     float* y;
//     int64_t columns;
//     __device__ void operator()(int64_t matrix, int64_t column, const double (&total)[1]) const {
//       y[matrix * columns + column] = static_cast<float>(total[0]);
//     }
//   };
//   sum_columns<1>(ColumnCut(rows, columns), call.workspace.data(), Squares{..}, Store{..});
//
// for_columns(): what needs numbers of its column, read once for many rows.
//
//   struct Scale {
//     __device__ void operator()(int64_t matrix, int64_t column, const Rows& rows) const {
//       const float s = scale[column];
//       for (int64_t row = rows.begin; row < rows.end; row += kRowLanes)
//         y.set(row * columns + column, x.get(row * columns + column) * s);
//     }
//   };
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/norm/common/columns.h"

namespace plimsoll::cuda {

struct Rows {
  int64_t begin, end;  // in steps of kRowLanes
};

// f(number of the chunk, column, rows) for the column and the rows of this thread.
template <class F>
__device__ void visit_chunk(int64_t rows, int64_t columns, int64_t step, int64_t chunks,
                            const F& f) {
  const int64_t tiles = (columns + kColumns - 1) / kColumns, number = blockIdx.x / tiles;
  const int64_t column = blockIdx.x % tiles * kColumns + threadIdx.x % kColumns;
  const int64_t first = number % chunks * step, last = first + step < rows ? first + step : rows;
  const int64_t base = number / chunks * rows, lane = threadIdx.x / kColumns;
  f(number, column, Rows{base + first + lane, base + last});
}

template <int K, class Add, class Store>
__global__ void column_sums_kernel(int64_t rows, int64_t columns, int64_t step, int64_t chunks,
                                   Add add, Store store) {
  __shared__ double of_lane[K][kRowLanes][kColumns];
  visit_chunk(rows, columns, step, chunks, [&](int64_t number, int64_t column, const Rows& own) {
    const int lane = threadIdx.x / kColumns, place = threadIdx.x % kColumns;
    double total[K] = {};
    if (column < columns)
      for (int64_t row = own.begin; row < own.end; row += kRowLanes) add(row, column, total);
    for (int k = 0; k < K; ++k) of_lane[k][lane][place] = total[k];
    __syncthreads();
    if (lane > 0 || column >= columns) return;
    for (int k = 0; k < K; ++k)
      for (int other = 1; other < kRowLanes; ++other) total[k] += of_lane[k][other][place];
    store(number, column, total);
  });
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

// `workspace` has cut.sums_bytes(K).
template <int K, class Add, class Store>
void sum_columns(const ColumnCut& cut, std::byte* workspace, const Add& add, const Store& store) {
  if (cut.blocks() == 0) return;
  constexpr int threads = kColumns * kRowLanes;
  const ChunkSums<K> sums{reinterpret_cast<double*>(workspace), cut.columns};
  launch(column_sums_kernel<K, Add, StoreChunk<K>>, cut.blocks(), threads, cut.rows, cut.columns,
         cut.step(), cut.chunks(), add, StoreChunk<K>{sums});
  launch(column_sums_kernel<K, AddChunk<K>, Store>, cut.batch * cut.tiles(), threads, cut.chunks(),
         cut.columns, cut.chunks(), 1, AddChunk<K>{sums}, store);
}

template <class F>
__global__ void columns_kernel(int64_t rows, int64_t columns, int64_t step, int64_t chunks, F f) {
  visit_chunk(rows, columns, step, chunks, [&](int64_t number, int64_t column, const Rows& own) {
    if (column < columns) f(number / chunks, column, own);
  });
}

template <class F>
void for_columns(const ColumnCut& cut, const F& f) {
  if (cut.blocks() == 0) return;
  launch(columns_kernel<F>, cut.blocks(), kColumns * kRowLanes, cut.rows, cut.columns, cut.step(),
         cut.chunks(), f);
}

}  // namespace plimsoll::cuda
