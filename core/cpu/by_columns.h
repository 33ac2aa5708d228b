// Loops down the columns of a matrix, for as many columns at a time as fit into registers: what
// belongs to a column, its sum or its mean, is not read and written again in every row.
//
//   by_columns<double>(columns, [&]<class V, int W>(int64_t c) {    // W vectors of columns, from c
//     V sum[W] = {};
//     for (int64_t row = 0; row < rows; ++row)
//       for (int w = 0; w < W; ++w) sum[w] += load_column<V>(x + row * columns + c, w);
//     for (int w = 0; w < W; ++w) store_column(sums + c, w, sum[w]);
//   });
#pragma once

#include "core/cpu/vector.h"

namespace plimsoll {

template <class V, class T>
V load_column(const T* p, int w) {
  return load_as<V>(p + w * kLanesOf<V>);
}
template <class V, class T>
void store_column(T* p, int w, V v) {
  store_as(p + w * kLanesOf<V>, v);
}

// f is called with V = Vector<T> and W = 4, 2 or 1, and with V = T and W = 4 or 1 for what is left.
template <class T, class F>
void by_columns(int64_t columns, const F& f) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes) f.template operator()<Vector<T>, 4>(c);
  for (; c + 2 * lanes <= columns; c += 2 * lanes) f.template operator()<Vector<T>, 2>(c);
  for (; c + lanes <= columns; c += lanes) f.template operator()<Vector<T>, 1>(c);
  for (; c + 4 <= columns; c += 4) f.template operator()<T, 4>(c);
  for (; c < columns; ++c) f.template operator()<T, 1>(c);
}

}  // namespace plimsoll
