#include "core/cpu/gemm/gemm16.h"

#include <algorithm>

#include "core/cpu/gemm/gemv.h"
#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"

namespace plimsoll {
namespace {

// A piece is up to so many rows of A and C, so many columns of B and C, and so many terms: a
// multiple of the terms that gemm() takes in one round, so that cutting changes no sum.
constexpr int64_t kRows = 512, kColumns = 2048, kTerms = 512;

struct Pieces {
  int64_t rows, columns, terms;  // of the largest
  int64_t a, b, c;               // elements
  Pieces(int64_t m, int64_t n, int64_t k)
      : rows(std::min(m, kRows)),
        columns(std::min(n, kColumns)),
        terms(std::min(k, kTerms)),
        a(rows * terms),
        b(terms * columns),
        c(rows * columns) {}
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
MatrixRef<T> at(const MatrixRef<T>& x, int64_t row, int64_t column) {
  return {x.data + row * x.row_stride + column * x.col_stride, x.row_stride, x.col_stride};
}

}  // namespace

int64_t gemm_16_bit_bytes(DType dtype, int64_t m, int64_t n, int64_t k) {
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  const Pieces p(m, n, k);
  return (p.a + p.b + p.c) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void gemm_16_bit(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, const T* bias,
                 T* c, std::byte* scratch) {
  if (m == 1 && a.col_stride == 1 && b.row_stride == 1)  // needs no f32 copies
    return gemv(n, k, a.data, b.data, b.col_stride, bias, c);
  const Pieces p(m, n, k);
  float* const wide_a = reinterpret_cast<float*>(scratch);
  float *const wide_b = wide_a + p.a, *const wide_c = wide_b + p.b;
  MatrixRef<float> right{};
  for (int64_t j = 0; j < n; j += p.columns) {
    const int64_t columns = std::min(p.columns, n - j);
    for (int64_t i = 0; i < m; i += p.rows) {
      const int64_t rows = std::min(p.rows, m - i);
      if (bias) convert_lines(rows, columns, bias + j, 0, wide_c, columns);
      if (k == 0 && !bias) std::fill_n(wide_c, rows * columns, 0.0F);
      for (int64_t t = 0; t < k; t += p.terms) {
        const int64_t terms = std::min(p.terms, k - t);
        const MatrixRef<float> left = widen_piece(at(a, i, t), rows, terms, wide_a);
        if (i == 0 || p.terms < k) right = widen_piece(at(b, t, j), terms, columns, wide_b);
        gemm<float>(rows, columns, terms, left, right, wide_c, columns,
                    bias || t > 0 ? Store::accumulate : Store::overwrite);
      }
      convert_lines(rows, columns, wide_c, columns, c + i * n + j, n);
    }
  }
}

template void gemm_16_bit<Half>(int64_t, int64_t, int64_t, MatrixRef<Half>, MatrixRef<Half>,
                                const Half*, Half*, std::byte*);
template void gemm_16_bit<BFloat16>(int64_t, int64_t, int64_t, MatrixRef<BFloat16>,
                                    MatrixRef<BFloat16>, const BFloat16*, BFloat16*, std::byte*);

}  // namespace plimsoll
