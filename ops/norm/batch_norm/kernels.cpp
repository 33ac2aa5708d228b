#include "ops/norm/batch_norm/kernels.h"

#include "core/cpu/by_columns.h"
#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"

namespace plimsoll::batch_norm_detail {
namespace {

constexpr int64_t kAhead = 16;  // rows whose lines are asked for before they are read

int64_t chunk_rows(const Rows& r) { return grain_for(r.channels); }

// The two partial vectors [C] of the chunk that begins at `row`.
struct Partial {
  double *first, *second;
  Partial(std::span<std::byte> scratch, const Rows& r, int64_t row)
      : first(reinterpret_cast<double*>(scratch.data()) + row / chunk_rows(r) * 2 * r.channels),
        second(first + r.channels) {}
};

// Mean of each channel over some rows, and the sum of squared deviations from it.
template <class T>
void chunk_statistics(const T* x, int64_t rows, int64_t channels, double* mean, double* m2) {
  by_columns<double>(channels, [=]<class V, int W>(int64_t c) {
    V m[W] = {}, squares[W] = {};
    for (int64_t i = 0; i < rows; ++i) {
      const T* const from = x + i * channels + c;
      prefetch(from, kAhead * channels, W * kLanesOf<V>);
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) m[w] += load_column<V>(from, w);
    }
    for (int w = 0; w < W; ++w) store_column(mean + c, w, m[w] /= static_cast<double>(rows));
    for (int64_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) {
        const V d = load_column<V>(x + i * channels + c, w) - m[w];
        squares[w] += d * d;
      }
    for (int w = 0; w < W; ++w) store_column(m2 + c, w, squares[w]);
  });
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979; in the order of the chunks.
template <class S>
void combine(std::span<std::byte> scratch, const Rows& r, double eps, S* mean, S* variance,
             S* inverse_std, S* mean_tail) {
  parallel_for(r.channels, 64, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double n = 0, m = 0, m2 = 0;
      for (int64_t row = 0; row < r.rows; row += chunk_rows(r)) {
        const Partial part(scratch, r, row);
        const auto k = static_cast<double>(std::min(chunk_rows(r), r.rows - row));
        const double delta = part.first[c] - m;
        m += delta * k / (n + k);
        m2 += part.second[c] + delta * delta * n * k / (n + k);
        n += k;
      }
      mean[c] = static_cast<S>(m);
      variance[c] = static_cast<S>(m2 / n);
      inverse_std[c] = static_cast<S>(1 / std::sqrt(m2 / n + eps));
      mean_tail[c] = static_cast<S>(m - static_cast<double>(mean[c]));
    }
  });
}

template <class T>
void forward_typed(const Call& call, double eps) {
  using S = Compute<T>;
  const Rows r = rows_of(call.in[0].shape());
  const int64_t channels = r.channels;
  const T* x = call.in[0].as<T>();
  const S *gamma = call.in[1].as<S>(), *beta = call.in[2].as<S>();
  T* y = call.out[0].as<T>();
  S *mean = call.out[1].as<S>(), *inverse_std = call.out[3].as<S>(), *tail = call.out[4].as<S>();
  parallel_for(r.rows, chunk_rows(r), [&](int64_t begin, int64_t end) {
    const Partial part(call.workspace, r, begin);
    chunk_statistics(x + begin * channels, end - begin, channels, part.first, part.second);
  });
  combine(call.workspace, r, eps, mean, call.out[2].as<S>(), inverse_std, tail);
  parallel_for(r.rows, chunk_rows(r), [=](int64_t begin, int64_t end) {
    by_columns<S>(channels, [=]<class V, int W>(int64_t c) {
      V m[W], t[W], inv[W], scale[W], shift[W];
      for (int w = 0; w < W; ++w) {
        m[w] = load_column<V>(mean + c, w), t[w] = load_column<V>(tail + c, w);
        inv[w] = load_column<V>(inverse_std + c, w);
        scale[w] = load_column<V>(gamma + c, w), shift[w] = load_column<V>(beta + c, w);
      }
      for (int64_t i = begin; i < end; ++i)
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const int64_t at = i * channels + c;
          V v = (load_column<V>(x + at, w) - m[w] - t[w]) * inv[w];
          v = v * scale[w] + shift[w];
          store_column<V>(y + at, w, v);
        }
    });
  });
}

// With n = (x - mean) inverse_std: dbeta = sum dy, dgamma = sum dy n,
// dx = gamma inverse_std (dy - dbeta / R - n dgamma / R).
// dx may be dy.
template <class T>
void backward_typed(const Call& call) {
  using S = Compute<T>;
  const std::span<std::byte> workspace = call.workspace;
  const Rows r = rows_of(call.in[1].shape());
  const int64_t channels = r.channels;
  const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
  const S *gamma = call.in[2].as<S>(), *mean = call.in[3].as<S>(), *inv = call.in[4].as<S>();
  const S* tail = call.in[5].as<S>();
  T* dx = call.out[0].as<T>();
  S *dgamma = call.out[1].as<S>(), *dbeta = call.out[2].as<S>();
  parallel_for(r.rows, chunk_rows(r), [&](int64_t begin, int64_t end) {
    const Partial part(workspace, r, begin);
    by_columns<double>(channels, [&]<class V, int W>(int64_t c) {
      V m[W], t[W], factor[W], sum[W] = {}, weighted[W] = {};
      for (int w = 0; w < W; ++w) {
        m[w] = load_column<V>(mean + c, w), t[w] = load_column<V>(tail + c, w);
        factor[w] = load_column<V>(inv + c, w);
      }
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * channels + c;
        prefetch(dy + at, kAhead * channels, W * kLanesOf<V>);
        prefetch(x + at, kAhead * channels, W * kLanesOf<V>);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const V g = load_column<V>(dy + at, w);
          sum[w] += g;
          weighted[w] += g * ((load_column<V>(x + at, w) - m[w] - t[w]) * factor[w]);
        }
      }
      for (int w = 0; w < W; ++w) {
        store_column(part.first + c, w, sum[w]);
        store_column(part.second + c, w, weighted[w]);
      }
    });
  });
  parallel_for(channels, 64, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0, weighted = 0;
      for (int64_t row = 0; row < r.rows; row += chunk_rows(r)) {
        sum += Partial(workspace, r, row).first[c];
        weighted += Partial(workspace, r, row).second[c];
      }
      dbeta[c] = static_cast<S>(sum);
      dgamma[c] = static_cast<S>(weighted);
    }
  });
  const S share = S(1) / static_cast<S>(r.rows);
  parallel_for(r.rows, chunk_rows(r), [=](int64_t begin, int64_t end) {
    by_columns<S>(channels, [=]<class V, int W>(int64_t c) {
      V m[W], t[W], factor[W], scale[W], sum[W], weighted[W];
      for (int w = 0; w < W; ++w) {
        m[w] = load_column<V>(mean + c, w), t[w] = load_column<V>(tail + c, w);
        factor[w] = load_column<V>(inv + c, w);
        scale[w] = load_column<V>(gamma + c, w) * factor[w];
        sum[w] = load_column<V>(dbeta + c, w), weighted[w] = load_column<V>(dgamma + c, w);
      }
      for (int64_t i = begin; i < end; ++i)
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          const int64_t at = i * channels + c;
          const V normal = (load_column<V>(x + at, w) - m[w] - t[w]) * factor[w];
          const V g = load_column<V>(dy + at, w);
          store_column<V>(dx + at, w, scale[w] * (g - share * (sum[w] + normal * weighted[w])));
        }
    });
  });
}

}  // namespace

Rows rows_of(const Shape& shape) {
  Rows r{1, shape.back()};
  for (int axis = 0; axis < shape.rank() - 1; ++axis) r.rows *= shape[axis];
  return r;
}

int64_t scratch_bytes(const Shape& x) {
  const Rows r = rows_of(x);
  return pieces(r.rows, chunk_rows(r)) * 2 * r.channels * static_cast<int64_t>(sizeof(double));
}

void forward(const Call& call, double eps) {
  visit_floating("batch_norm", call.in[0].dtype(), [&]<class T>() { forward_typed<T>(call, eps); });
}

void backward(const Call& call) {
  visit_floating("batch_norm_grad", call.in[1].dtype(),
                 [&]<class T>() { backward_typed<T>(call); });
}

}  // namespace plimsoll::batch_norm_detail
