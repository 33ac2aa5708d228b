// What the CPU's kernels of normalisations share.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

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

// What sums down the rows are taken in, and of how many rows before they are added to others in
// f64: so few numbers of 16 bits that f32 loses next to nothing. Squares must not leave its range:
// numbers of bf16 that differ by more than 1e18 do.
template <class T>
using RunSum = std::conditional_t<is_16_bit<T>, float, double>;
template <class T>
constexpr int64_t kRunRows = is_16_bit<T> ? 128 : 1 << 30;

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

// Mean of each channel over some rows of x [rows, channels], and the sum of squared deviations from
// it; with those of `before` other rows, which mean and m2 have, where there are any.
template <class T>
void add_statistics(const T* x, int64_t rows, int64_t channels, int64_t before, double* mean,
                    double* m2) {
  by_columns<RunSum<T>>(channels, [=]<class V, int W>(int64_t c) {
    constexpr int64_t columns = W * kLanesOf<V>;
    for (int64_t first = 0; first < rows; first += kRunRows<T>) {
      const int64_t last = std::min(rows, first + kRunRows<T>);
      const auto n = static_cast<RunSum<T>>(last - first);
      const int64_t seen = before + first;
      V m[W] = {}, squares[W] = {}, rest[W] = {}, v[W];
      for (int64_t i = first; i < last; ++i) {
        const T* const from = x + i * channels + c;
        prefetch(from, kRowsAhead * channels, columns);
        load_columns<T>(from, v);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) m[w] += v[w];
      }
      for (int w = 0; w < W; ++w) m[w] /= n;
      for (int64_t i = first; i < last; ++i) {
        load_columns<T>(x + i * channels + c, v);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const V d = v[w] - m[w];
          if constexpr (is_16_bit<T>) rest[w] += d;
          squares[w] += d * d;
        }
      }
      std::array<double, columns> run_mean, run_m2;  // of a later run than the first
      double* const to_mean = seen == 0 ? mean + c : run_mean.data();
      store_columns<T>(to_mean, m);
      // What rounding in f32 took from the mean: Chan, Golub and LeVeque, "Algorithms for computing
      // the sample variance", 1983, equation 1.7.
      if constexpr (is_16_bit<T>) {
        for (int w = 0; w < W; ++w) {
          const V of_each = rest[w] / n, about_mean = squares[w] - rest[w] * of_each;
          rest[w] = of_each;
          squares[w] = about_mean < 0 ? V{} : about_mean;
        }
        add_to_columns<T>(to_mean, rest);
      }
      store_columns<T>(seen == 0 ? m2 + c : run_m2.data(), squares);
      if (seen == 0) continue;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) {
        Moments<> all{static_cast<double>(seen), mean[c + i], m2[c + i]};
        all.add(static_cast<double>(n), run_mean[i], run_m2[i]);
        mean[c + i] = all.mean;
        m2[c + i] = all.m2;
      }
    }
  });
}

// The same of all rows, in chunks that are still in a cache when they are read again.
template <class T>
void column_statistics(const T* x, int64_t rows, int64_t channels, double* mean, double* m2) {
  const int64_t chunk = grain_for(channels);
  for (int64_t row = 0; row < rows; row += chunk)
    add_statistics(x + row * channels, std::min(chunk, rows - row), channels, row, mean, m2);
}

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
