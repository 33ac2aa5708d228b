// Transposing a matrix, a square of vectors at a time.
//
//   transpose(x, cols, rows, cols, y, rows);           // x [rows, cols] -> y [cols, rows]
#pragma once

#include <type_traits>

#include "core/cpu/vector.h"

namespace plimsoll {

// A square of kLanes x kLanes elements, in registers.
template <class T>
void transpose_square(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int lanes = kLanes<T>;
  using V = Vector<T>;
  V rows[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    rows[i] = load<V>(from + i * from_step);
    __builtin_prefetch(from + i * from_step + 3 * lanes);
  }
  // Exchanges, between rows i and i + d, the halves of each run of 2 d elements.
#pragma GCC unroll 4
  for (int d = lanes / 2; d >= 1; d /= 2) {
    using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    Vector<Index> low, high;
    for (int l = 0; l < lanes; ++l) {
      low[l] = l & d ? lanes + l - d : l;
      high[l] = l & d ? lanes + l : l + d;
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      if (!(i & d)) {
        const V x = rows[i], y = rows[i + d];
        rows[i] = __builtin_shuffle(x, y, low);
        rows[i + d] = __builtin_shuffle(x, y, high);
      }
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) store(to + i * to_step, rows[i]);
}

// to[c * to_step + r] = from[r * from_step + c].
template <class T>
void transpose(const T* from, int64_t from_step, int64_t rows, int64_t cols, T* to,
               int64_t to_step) {
  const int64_t whole_rows = rows / kLanes<T> * kLanes<T>,
                whole_cols = cols / kLanes<T> * kLanes<T>;
  for (int64_t r = 0; r < whole_rows; r += kLanes<T>)
    for (int64_t c = 0; c < whole_cols; c += kLanes<T>)
      transpose_square(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < whole_rows ? whole_cols : 0; c < cols; ++c)
      to[c * to_step + r] = from[r * from_step + c];
}

}  // namespace plimsoll
