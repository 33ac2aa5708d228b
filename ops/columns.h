// How sums down the columns of a matrix [R, D] are cut on a GPU (ops/columns.cuh): what a rule for
// workspace must know, in every build.
#pragma once

#include "core/cpu/parallel.h"

namespace plimsoll::cuda {

constexpr int kColumns = 32, kRowLanes = 8;  // of one block

inline int64_t column_tiles(int64_t columns) { return (columns + kColumns - 1) / kColumns; }

// Rows of a chunk: enough chunks to keep a large GPU busy, none without work for all its threads.
inline int64_t column_step(int64_t rows, int64_t columns) {
  constexpr int64_t blocks = 2048;
  const int64_t least = std::min<int64_t>(8 * kRowLanes, detail::piece_elements);
  const int64_t most = std::max<int64_t>(blocks / std::max<int64_t>(column_tiles(columns), 1), 1);
  return std::max(least, (rows + most - 1) / most);
}
inline int64_t column_chunks(int64_t rows, int64_t columns) {
  const int64_t step = column_step(rows, columns);
  return std::max<int64_t>((rows + step - 1) / step, 1);
}

// Bytes of workspace for `sums` sums of each column.
inline int64_t column_sums_bytes(int sums, int64_t rows, int64_t columns) {
  return sums * column_chunks(rows, columns) * columns * static_cast<int64_t>(sizeof(double));
}

}  // namespace plimsoll::cuda
