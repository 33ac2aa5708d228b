// What the CPU's kernels of normalisations share.
#pragma once

#include "core/cpu/by_columns.h"
#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "ops/common/expect.h"

namespace plimsoll::norm_detail {

// DTypeError unless gamma and beta, inputs 1 and 2, have the type that x is computed in.
inline void check_gain_types(const char* op, std::span<const Meta> in) {
  const DType wide = compute_dtype(in[0].dtype);
  check<DTypeError>(in[1].dtype == wide && in[2].dtype == wide, op,
                    ": gamma and beta have the wrong type: got ", in[1].dtype, " and ", in[2].dtype,
                    " for ", in[0].dtype, " data. Give them in ", wide, ".");
}

constexpr int64_t kRowsAhead = 16;  // whose lines are asked for before they are read

// What sums over a chunk of rows are taken in: of 16 bits f32 keeps far more than there is to lose.
template <class T>
using ChunkSum = std::conditional_t<is_16_bit<T>, float, double>;

// Mean of each channel over some rows of x [rows, channels], and the sum of squared deviations from
// it.
template <class T>
void chunk_statistics(const T* x, int64_t rows, int64_t channels, double* mean, double* m2) {
  using S = ChunkSum<T>;
  by_columns<S>(channels, [=]<class V, int W>(int64_t c) {
    V m[W] = {}, rest[W] = {}, squares[W] = {}, v[W];
    for (int64_t i = 0; i < rows; ++i) {
      const T* const from = x + i * channels + c;
      prefetch(from, kRowsAhead * channels, W * kLanesOf<V>);
      load_columns<T>(from, v);
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) m[w] += v[w];
    }
    const auto n = static_cast<S>(rows);
    for (int w = 0; w < W; ++w) m[w] /= n;
    for (int64_t i = 0; i < rows; ++i) {
      load_columns<T>(x + i * channels + c, v);
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) {
        const V d = v[w] - m[w];
        if constexpr (is_16_bit<T>) rest[w] += d;
        squares[w] += d * d;
      }
    }
    // What rounding in f32 took from the mean: Chan, Golub and LeVeque, "Algorithms for computing
    // the sample variance", 1983, equation 1.7.
    for (int w = 0; w < W; ++w)
      if constexpr (is_16_bit<T>) {
        const V of_each = rest[w] / n, m2_of_mean = squares[w] - rest[w] * of_each;
        m[w] += of_each;
        squares[w] = m2_of_mean < 0 ? V{} : m2_of_mean;
      }
    store_columns<T>(mean + c, m);
    store_columns<T>(m2 + c, squares);
  });
}

// Mean and squared deviations of more and more groups: Chan, Golub and LeVeque, "Updating formulae
// and a pairwise algorithm for computing sample variances", 1979.
// V: double, or a vector of them.
template <class V = double>
struct Moments {
  double n = 0;
  V mean{}, m2{};

  void add(double k, V their_mean, V their_m2) {
    const V delta = their_mean - mean;
    const double share = k / (n + k);
    mean += delta * share;
    m2 += their_m2 + delta * delta * (n * share);
    n += k;
  }
};

// Rows per partial sum of the gradients of gamma and beta: at most 64 partial sums, however many
// rows.
inline int64_t rows_per_piece(int64_t rows, int64_t n) {
  return std::max(grain_for(2 * n), pieces(rows, 64));
}

// result [n] = the sum of `steps` partial sums, which lie `stride` apart.
template <class C>
void add_pieces(const double* partial, int64_t steps, int64_t stride, int64_t n, C* result) {
  for (int64_t i = 0; i < n; ++i) {
    double total = 0;
    for (int64_t s = 0; s < steps; ++s) total += partial[s * stride + i];
    result[i] = static_cast<C>(total);
  }
}

}  // namespace plimsoll::norm_detail
