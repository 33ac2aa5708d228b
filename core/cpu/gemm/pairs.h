// Operands of bfloat16 as pairs of neighbouring terms (bfloat16_dot.h): where the terms of a line,
// a row of A or a column of B, are neighbours in memory they are pairs already, and nothing is
// copied.
//
//   const auto left = pair_rows(a, rows, terms, scratch);       // [rows, pairs]
//   const auto right = pair_columns(b, terms, columns, more);   // [pairs, columns]
#pragma once

#include "core/cpu/gemm/gemm.h"
#include "core/cpu/parallel.h"

namespace plimsoll {

// How many elements of operands so many terms are.
template <class E>
constexpr int64_t elements_in(int64_t terms) {
  return pieces(terms, kTermsPerElement<E>);
}

// to[i] = {even[i], odd[i]}, of bfloat16 or of f32, which is rounded.
template <class T>
void interleave(const T* even, const T* odd, int64_t n, BFloat16Pair* to) {
  using Words = Vector<uint32_t>;
  constexpr int64_t lanes = kLanes<uint32_t>;
  const auto words = [](const T* from) {
    if constexpr (std::is_same_v<T, BFloat16>)
      return widen_lanes<Words>(load<Alongside<uint16_t, Words>>(from));
    else
      return bfloat16_of_float<Words>(load<Vector<float>>(from));
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(to + i, words(even + i) | words(odd + i) << 16);
  for (; i < n; ++i) to[i] = {BFloat16(even[i]), BFloat16(odd[i])};
}

// Rows of `terms` terms. An odd number of them gets a zero. `scratch` has room for all pairs.
inline MatrixRef<BFloat16Pair> pair_rows(const MatrixRef<BFloat16>& x, int64_t rows, int64_t terms,
                                         BFloat16Pair* scratch) {
  const int64_t pairs = elements_in<BFloat16Pair>(terms), whole = terms / 2;
  if (x.col_stride == 1 && x.row_stride % 2 == 0 && whole == pairs)
    return {reinterpret_cast<const BFloat16Pair*>(x.data), x.row_stride / 2, 1};
  if (x.col_stride == 1) {
    parallel_for(rows, grain_for(terms), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const BFloat16* from = x.data + row * x.row_stride;
        BFloat16Pair* to = scratch + row * pairs;
        std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(whole) * sizeof *to);
        if (whole < pairs) to[whole] = {from[terms - 1], {}};
      }
    });
    return {scratch, pairs, 1};
  }
  parallel_for(pairs, grain_for(rows), [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end; ++pair) {
      const BFloat16* even = x.data + 2 * pair * x.col_stride;
      BFloat16Pair* to = scratch + pair * rows;
      if (pair < whole)
        interleave(even, even + x.col_stride, rows, to);
      else
        for (int64_t i = 0; i < rows; ++i) to[i] = {even[i], {}};
    }
  });
  return {scratch, 1, rows};
}

// The same for the columns of a right operand.
inline MatrixRef<BFloat16Pair> pair_columns(const MatrixRef<BFloat16>& x, int64_t terms,
                                            int64_t columns, BFloat16Pair* scratch) {
  const MatrixRef<BFloat16Pair> turned =
      pair_rows({x.data, x.col_stride, x.row_stride}, columns, terms, scratch);
  return {turned.data, turned.col_stride, turned.row_stride};
}

}  // namespace plimsoll
