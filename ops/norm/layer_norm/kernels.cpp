#include "ops/norm/layer_norm/kernels.h"

#include "core/cpu/by_columns.h"
#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "core/cpu/reduce.h"
#include "ops/common/broadcast.h"

namespace plimsoll::layer_norm_detail {
namespace {

template <class T>
double mean_of(const T* x, int64_t n) {
  using C = Compute<T>;
  const C total = sum_of<C>(n, [&]<class V>(int64_t i) { return load_as<V>(x + i); });
  return static_cast<double>(total) / static_cast<double>(n);
}

template <class C>
struct Row {
  double mean;
  C inverse;  // 1 / sqrt(variance + eps)
};

// The first mean may carry the rounding of a long sum; the mean of the deviations from it corrects
// it and the variance.
template <class T>
Row<Compute<T>> statistics(const T* x, int64_t n, double eps) {
  using C = Compute<T>;
  const C about = static_cast<C>(mean_of(x, n));
  const auto [first, second] = sums_of<C, 2>(n, [&]<class V>(int64_t i) {
    const V d = load_as<V>(x + i) - about;
    return std::array<V, 2>{d, d * d};
  });
  const double correction = static_cast<double>(first) / static_cast<double>(n);
  const double variance = static_cast<double>(second) / static_cast<double>(n);
  const double centred = std::max(0.0, variance - correction * correction);
  return {about + correction, static_cast<C>(1 / std::sqrt(centred + eps))};
}

// Rows per partial sum of dgamma and dbeta: at most 64 partial sums, however many rows.
int64_t rows_per_piece(int64_t rows, int64_t n) {
  return std::max(grain_for(2 * n), pieces(rows, 64));
}

// One row of the gradient. With xhat = (x - mean) * inverse and g = dy * gamma: dx = inverse *
// (g - mean(g) - xhat * mean(g * xhat)).
template <class T, class C>
void backward_row(const T* dy, const T* x, const C* gamma, Split<C> mean, C inverse, int64_t n,
                  T* dx) {
  const auto [sum_g, sum_gx] = sums_of<C, 2>(n, [&]<class V>(int64_t i) {
    const V xhat = (load_as<V>(x + i) - mean.high - mean.rest) * inverse;
    const V g = load_as<V>(dy + i) * load_as<V>(gamma + i);
    return std::array<V, 2>{g, g * xhat};
  });
  const C mean_g = sum_g / static_cast<C>(n), mean_gx = sum_gx / static_cast<C>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C xhat = (static_cast<C>(x[i]) - mean.high - mean.rest) * inverse;
    const C g = static_cast<C>(dy[i]) * gamma[i];
    dx[i] = narrow<T>(inverse * (g - mean_g - xhat * mean_gx));
  }
}

constexpr int64_t kGroup = 8;  // rows that are still near when they are read once more

// Adds dy * xhat of some rows to dgamma and dy to dbeta, in double: there may be many rows.
template <class T, class C>
void add_columns(const T* dy, const T* x, const double* means, const C* inverses, int64_t rows,
                 int64_t n, double* dgamma, double* dbeta) {
  by_columns<double>(n, [=]<class V, int W>(int64_t c) {
    V weighted[W], sum[W];
    for (int w = 0; w < W; ++w) {
      weighted[w] = load_column<V>(dgamma + c, w);
      sum[w] = load_column<V>(dbeta + c, w);
    }
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = row * n + c;
      prefetch(dy + at, kGroup * n, W * kLanesOf<V>);
      prefetch(x + at, kGroup * n, W * kLanesOf<V>);
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) {
        const V d = load_column<V>(dy + at, w);
        const V centred = load_column<V>(x + at, w) - means[row];
        weighted[w] += d * (centred * static_cast<double>(inverses[row]));
        sum[w] += d;
      }
    }
    for (int w = 0; w < W; ++w) {
      store_column(dgamma + c, w, weighted[w]);
      store_column(dbeta + c, w, sum[w]);
    }
  });
}

}  // namespace

void forward(const Call& call, double eps) {
  const int64_t n = call.in[1].shape()[0];
  visit_floating("layer_norm", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T* x = call.in[0].as<T>();
    const C *gamma = call.in[1].as<C>(), *beta = call.in[2].as<C>();
    T* y = call.out[0].as<T>();
    double* means = call.out[1].as<double>();
    C* inverses = call.out[2].as<C>();
    if (n == 0) {  // rows without elements: any statistics will do
      std::fill_n(means, count(call.out[1].shape()), 0.0);
      std::fill_n(inverses, count(call.out[2].shape()), C(0));
    }
    parallel_for(
        n == 0 ? 0 : count(call.out[1].shape()), grain_for(2 * n), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const T* from = x + row * n;
            T* to = y + row * n;
            prefetch_next_row(from, n);
            const Row<C> stats = statistics(from, n, eps);
            means[row] = stats.mean;
            inverses[row] = stats.inverse;
            const Split<C> m(stats.mean);
#pragma omp simd
            for (int64_t i = 0; i < n; ++i)
              to[i] = narrow<T>(
                  (static_cast<C>(from[i]) - m.high - m.rest) * stats.inverse * gamma[i] + beta[i]);
          }
        });
  });
}

int64_t backward_workspace(const Meta& x, const Meta& gamma) {
  const int64_t n = gamma.shape[0];
  if (n == 0) return 0;
  const int64_t rows = count(x.shape) / n;
  return pieces(rows, rows_per_piece(rows, n)) * 2 * n * static_cast<int64_t>(sizeof(double));
}

void backward(const Call& call) {
  const int64_t n = call.in[2].shape()[0];
  const int64_t rows = count(call.in[3].shape());
  const int64_t step = rows_per_piece(rows, n), steps = pieces(rows, step);
  visit_floating("layer_norm_grad", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
    const C *gamma = call.in[2].as<C>(), *inverses = call.in[4].as<C>();
    const double* means = call.in[3].as<double>();
    T* dx = call.out[0].as<T>();
    double* partial =
        reinterpret_cast<double*>(call.workspace.data());  // [steps, {dgamma, dbeta}, D]
    parallel_for(rows, step, [&](int64_t begin, int64_t end) {
      double* dgamma = partial + begin / step * 2 * n;
      std::fill_n(dgamma, 2 * n, 0.0);
      for (int64_t first = begin; first < end; first += kGroup) {
        const int64_t last = std::min(end, first + kGroup);
        add_columns(dy + first * n, x + first * n, means + first, inverses + first, last - first, n,
                    dgamma, dgamma + n);
        for (int64_t row = first; row < last; ++row)  // now: dx may lie on dy
          backward_row(dy + row * n, x + row * n, gamma, Split<C>(means[row]), inverses[row], n,
                       dx + row * n);
      }
    });
    for (int output = 1; output <= 2; ++output) {
      C* result = call.out[output].as<C>();
      const double* part = partial + (output - 1) * n;
      for (int64_t i = 0; i < n; ++i) {
        double total = 0;
        for (int64_t s = 0; s < steps; ++s) total += part[2 * s * n + i];
        result[i] = static_cast<C>(total);
      }
    }
  });
}

}  // namespace plimsoll::layer_norm_detail
