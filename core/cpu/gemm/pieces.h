// A matrix product whose right operand is made piece by piece, as it is needed: of 16-bit numbers
// that are widened, of codes that are looked up. The whole of it is never there.
//
//   // `columns` columns from `column` on, of some terms: dense, in either direction, in parallel.
//   const auto right = [&](int64_t term, int64_t terms, int64_t column, int64_t columns, T* to) {
//     ...
//     return MatrixRef<float>{to, columns, 1};
//   };
//   multiply_pieces<float>(m, n, k, {x, k, 1}, right, nullptr, y, scratch, pieces);
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/base/dtype.h"
#include "core/cpu/gemm/gemm.h"
#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"

namespace plimsoll {

// A piece is up to so many rows of A and C, so many columns of B and C, and so many terms: all of
// them, or a multiple of the terms that gemm() takes in one round, so that cutting changes no sum.
struct GemmPieces {
  int64_t rows, columns, terms;

  // Scratch for operands of so many bytes: A and C of 16 bits pass through f32, others stay where
  // they are.
  int64_t bytes(int64_t element) const {
    if (element == 2) return 4 * (rows * terms + terms * columns + rows * columns);
    return element * terms * columns;
  }
};

// `lines` lines of n neighbours, `from_step` and `to_step` apart.
template <class From, class To>
void convert_lines(int64_t lines, int64_t n, const From* from, int64_t from_step, To* to,
                   int64_t to_step) {
  parallel_for(lines, grain_for(n), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const From* x = from + line * from_step;
      To* y = to + line * to_step;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) y[i] = narrow<To>(x[i]);
    }
  });
}

// A dense copy in f32 that lies in the same direction.
template <class T>
MatrixRef<float> widen_piece(const MatrixRef<T>& x, int64_t rows, int64_t columns, float* to) {
  if (x.col_stride == 1) {
    convert_lines(rows, columns, x.data, x.row_stride, to, columns);
    return {to, columns, 1};
  }
  convert_lines(columns, rows, x.data, x.col_stride, to, rows);
  return {to, 1, rows};
}

template <class T>
MatrixRef<T> part_of(const MatrixRef<T>& x, int64_t row, int64_t column) {
  return {x.data + row * x.row_stride + column * x.col_stride, x.row_stride, x.col_stride};
}

// C = A B, each row plus `bias` [n] where there is one. C is dense, [m, n]. The bits are those of
// gemm() on whole operands.
template <class T, class Right>
void multiply_pieces(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, const Right& right,
                     const T* bias, T* c, std::byte* scratch, const GemmPieces& p) {
  using S = Compute<T>;  // what sums are made in
  constexpr bool wide = std::is_same_v<S, T>;
  S* const b = reinterpret_cast<S*>(scratch);
  [[maybe_unused]] S *const wide_a = b + p.terms * p.columns, *const wide_c =
                                                                  wide_a + p.rows * p.terms;
  MatrixRef<S> b_piece{};
  for (int64_t j = 0; j < n; j += p.columns) {
    const int64_t columns = std::min(p.columns, n - j);
    for (int64_t i = 0; i < m; i += p.rows) {
      const int64_t rows = std::min(p.rows, m - i);
      S* sums;
      int64_t stride;
      if constexpr (wide) {
        sums = c + i * n + j;
        stride = n;
      } else {
        sums = wide_c;
        stride = columns;
      }
      if (bias) convert_lines(rows, columns, bias + j, 0, sums, stride);
      if (k == 0 && !bias)
        for (int64_t row = 0; row < rows; ++row) std::fill_n(sums + row * stride, columns, S(0));
      for (int64_t t = 0; t < k; t += p.terms) {
        const int64_t terms = std::min(p.terms, k - t);
        MatrixRef<S> a_piece;
        if constexpr (wide)
          a_piece = part_of(a, i, t);
        else
          a_piece = widen_piece(part_of(a, i, t), rows, terms, wide_a);
        if (i == 0 || p.terms < k) b_piece = right(t, terms, j, columns, b);
        gemm<S>(rows, columns, terms, a_piece, b_piece, sums, stride,
                bias || t > 0 ? Store::accumulate : Store::overwrite);
      }
      if constexpr (!wide) convert_lines(rows, columns, wide_c, columns, c + i * n + j, n);
    }
  }
}

}  // namespace plimsoll
