// How work down the columns of a matrix [R, D] is cut on a GPU where a thread takes several
// neighbouring columns (ops/norm/common/column_packs.cuh): what a rule for workspace must know, in every build.
#pragma once

#include <algorithm>

#include "core/base/dtype.h"
#include "core/cpu/parallel.h"

namespace plimsoll::cuda {

constexpr int kPackThreads = 256;  // of one block
constexpr int kMostNeighbours = 4;

// Depends on sizes and type alone, and with it the order of a sum: not on where operands lie.
struct PackCut {
  int64_t rows, columns;
  int neighbours;  // columns of a thread, which divide all columns

  // f64 is moved one by one (core/cuda/elements.cuh).
  PackCut(int64_t matrix_rows, int64_t matrix_columns, DType dtype)
      : rows(matrix_rows),
        columns(matrix_columns),
        neighbours(dtype != DType::f64 && columns % kMostNeighbours == 0 ? kMostNeighbours : 1) {}

  // Threads of a block side by side, a power of two; the others take the next rows, so that those
  // of a warp read one piece of memory.
  int64_t across() const {
    int64_t n = 1;
    while (n < 32 && n * neighbours < columns) n *= 2;
    return n;
  }
  int64_t lanes() const { return kPackThreads / across(); }
  int64_t tiles() const { return pieces(columns, across() * neighbours); }
  // Rows of a chunk: enough chunks to keep a large GPU busy, none without work for all threads.
  int64_t step() const {
    constexpr int64_t blocks = 132 * 16;
    const int64_t least = std::min<int64_t>(8 * lanes(), detail::piece_elements);
    const int64_t most = std::max<int64_t>(blocks / tiles(), 1);
    return std::max(least, pieces(rows, most));
  }
  int64_t chunks() const { return std::max<int64_t>(pieces(rows, step()), 1); }
  int64_t blocks() const { return chunks() * tiles(); }

  // Bytes of workspace for `sums` sums of each column.
  int64_t sums_bytes(int sums) const {
    return sums * chunks() * columns * static_cast<int64_t>(sizeof(double));
  }
};

}  // namespace plimsoll::cuda
