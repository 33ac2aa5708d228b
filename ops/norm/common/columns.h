// How sums down the columns of matrices [batch, R, D] are cut on a GPU (ops/norm/common/columns.cuh): what a
// rule for workspace must know, in every build.
#pragma once

#include "core/cpu/parallel.h"

namespace plimsoll::cuda {

constexpr int kColumns = 32, kRowLanes = 8;  // of one block

struct ColumnCut {
  int64_t rows, columns, batch;

  explicit ColumnCut(int64_t r, int64_t d, int64_t b = 1) : rows(r), columns(d), batch(b) {}

  int64_t tiles() const { return pieces(columns, kColumns); }
  // Rows of a chunk: enough chunks to keep a large GPU busy, none without work for all threads.
  int64_t step() const {
    constexpr int64_t blocks = 2048;
    const int64_t least = std::min<int64_t>(8 * kRowLanes, detail::piece_elements);
    const int64_t most = std::max<int64_t>(blocks / std::max<int64_t>(tiles() * batch, 1), 1);
    return std::max(least, pieces(rows, most));
  }
  int64_t chunks() const { return std::max<int64_t>(pieces(rows, step()), 1); }  // of a matrix
  int64_t blocks() const { return batch * chunks() * tiles(); }

  // Bytes of workspace for `sums` sums of each column.
  int64_t sums_bytes(int sums) const {
    return sums * batch * chunks() * columns * static_cast<int64_t>(sizeof(double));
  }
};

}  // namespace plimsoll::cuda
