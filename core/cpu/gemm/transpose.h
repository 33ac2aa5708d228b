// Transposing a matrix, a square of vectors at a time.
//
//   transpose(x, cols, rows, cols, y, rows);           // x [rows, cols] -> y [cols, rows]
#pragma once

#include <utility>

#include "core/cpu/vector.h"

namespace plimsoll {

// Exchanges, between rows i and i + kDistance, the halves of each run of 2 kDistance elements; then
// the same for half the distance, down to 1.
template <class T, size_t kDistance, size_t... kLane>
[[gnu::always_inline]] inline void exchange_halves(Vector<T>* rows,
                                                   std::index_sequence<kLane...> lanes) {
  constexpr size_t n = sizeof...(kLane);
#pragma GCC unroll 16
  for (size_t i = 0; i < n; ++i)
    if (!(i & kDistance)) {
      const Vector<T> x = rows[i], y = rows[i + kDistance];
      rows[i] =
          __builtin_shufflevector(x, y, (kLane & kDistance ? n + kLane - kDistance : kLane)...);
      rows[i + kDistance] =
          __builtin_shufflevector(x, y, (kLane & kDistance ? n + kLane : kLane + kDistance)...);
    }
  if constexpr (kDistance > 1) exchange_halves<T, kDistance / 2>(rows, lanes);
}

// A square of kLanes x kLanes elements, in registers.
template <class T>
void transpose_square(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int lanes = kLanes<T>;
  Vector<T> rows[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    rows[i] = load<Vector<T>>(from + i * from_step);
    __builtin_prefetch(from + i * from_step + 3 * lanes);
  }
  exchange_halves<T, lanes / 2>(rows, std::make_index_sequence<lanes>());
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
