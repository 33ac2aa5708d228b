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

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/cpu/shuffle.h"

namespace plimsoll {

template <class V, class T>
V load_column(const T* p, int w) {
  return load_as<V>(p + w * kLanesOf<V>);
}
template <class V, class T>
void store_column(T* p, int w, V v) {
  store_as(p + w * kLanesOf<V>, v);
}

// Where a kernel does the same to each column, it need not know which lane holds which: parameters
// and sums only must lie as the data of type T does, and these see to it. In bfloat16, two columns
// are a word, whose halves become numbers without being moved to other lanes: the even columns are
// one vector, the odd ones the next.
//
//   V sum[W] = {}, v[W];
//   for (int64_t row = 0; row < rows; ++row) {
//     load_columns<T>(x + row * columns + c, v);
//     for (int w = 0; w < W; ++w) sum[w] += v[w];
//   }
//   store_columns<T>(sums + c, sum);                // or add_to_columns, in f64
template <class T, class V, int W>
constexpr bool kEvenAndOdd = (std::is_same_v<T, BFloat16> && std::is_same_v<V, Vector<float>> &&
                              W % 2 == 0);

template <class T, class V, int W, class P>
void load_columns(const P* p, V (&v)[W]) {
  if constexpr (kEvenAndOdd<T, V, W>) {
    constexpr int64_t lanes = kLanes<float>;
    for (int w = 0; w < W; w += 2, p += 2 * lanes) {
      if constexpr (std::is_same_v<P, BFloat16>) {
        const auto words = load<Vector<uint32_t>>(p);
        v[w] = std::bit_cast<V>(words << 16);
        v[w + 1] = std::bit_cast<V>(words & 0xffff0000u);
      } else {
        const V first = load_as<V>(p), second = load_as<V>(p + lanes);
        v[w] = every_second<0>(first, second);
        v[w + 1] = every_second<1>(first, second);
      }
    }
  } else {
#pragma GCC unroll 4
    for (int w = 0; w < W; ++w) v[w] = load_column<V>(p, w);
  }
}
template <class T, class V, int W, class P>
void store_columns(P* p, const V (&v)[W]) {
  using C = typename ScalarOf<V>::type;
  constexpr int64_t lanes = kLanesOf<V>;
  if constexpr (kEvenAndOdd<T, V, W> && std::is_same_v<P, BFloat16>) {
    using Words = Vector<uint32_t>;
    for (int w = 0; w < W; w += 2, p += 2 * lanes)
      store(p, (rounded_to_bfloat16<Words>(v[w]) >> 16) |
                   (rounded_to_bfloat16<Words>(v[w + 1]) & 0xffff0000u));
  } else if constexpr (kEvenAndOdd<T, V, W> || sizeof(P) > sizeof(C)) {
    std::array<C, W * lanes> in_order;
    std::memcpy(in_order.data(), v, sizeof v);
    if constexpr (kEvenAndOdd<T, V, W>)
      for (int w = 0; w < W; w += 2) {
        store(in_order.data() + w * lanes, by_turns<0>(v[w], v[w + 1]));
        store(in_order.data() + (w + 1) * lanes, by_turns<1>(v[w], v[w + 1]));
      }
#pragma omp simd
    for (size_t i = 0; i < in_order.size(); ++i) p[i] = static_cast<P>(in_order[i]);
  } else {
#pragma GCC unroll 4
    for (int w = 0; w < W; ++w) store_column(p, w, v[w]);
  }
}
template <class T, class V, int W>
void add_to_columns(double* p, const V (&v)[W]) {
  std::array<double, W * kLanesOf<V>> all;
  store_columns<T>(all.data(), v);
#pragma omp simd
  for (size_t i = 0; i < all.size(); ++i) p[i] += all[i];
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
