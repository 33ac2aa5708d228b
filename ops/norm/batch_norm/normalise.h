// What the CPU's kernels of batch normalisation share.
#pragma once

#include "ops/norm/batch_norm/attrs.h"
#include "ops/norm/common/rows.h"

namespace plimsoll::batch_norm_detail {

using namespace norm_detail;

// DTypeError or ShapeError unless x has elements and the other inputs are vectors of its channels,
// in f32 (f64 when x is f64).
void check_channels(const char* name, std::span<const Meta> in);

// (x - mean - tail) / sqrt(variance + eps) of W vectors of channels, from c, as load_columns<T>()
// has them.
template <class T, class V, int W>
struct Normal {
  V mean[W], tail[W], inverse[W];
  template <class S>
  Normal(const S* of_mean, const S* of_tail, const S* of_inverse, int64_t c) {
    load_columns<T>(of_mean + c, mean);
    load_columns<T>(of_tail + c, tail);
    load_columns<T>(of_inverse + c, inverse);
  }
  V of(V x, int w) const { return (x - mean[w] - tail[w]) * inverse[w]; }
};

// gamma normal + beta of the same channels.
template <class T, class V, int W>
struct Affine {
  V scale[W], shift[W];
  template <class S>
  Affine(const S* gamma, const S* beta, int64_t c) {
    load_columns<T>(gamma + c, scale);
    load_columns<T>(beta + c, shift);
  }
  V of(V normal, int w) const { return normal * scale[w] + shift[w]; }
};

// What belongs to the channels, [C] each.
template <class S>
struct OfChannels {
  const S *mean, *tail, *inverse, *gamma, *beta;
};

// y = gamma normal + beta, and relu of it if asked for. y may be x.
template <class T, bool relu>
void normalise_rows(const T* x, T* y, const Rows& r, const OfChannels<Compute<T>>& of) {
  const int64_t channels = r.channels;
  parallel_for(r.rows, grain_for(channels), [=](int64_t begin, int64_t end) {
    by_columns<Compute<T>>(channels, [=]<class V, int W>(int64_t c) {
      const Normal<T, V, W> normal(of.mean, of.tail, of.inverse, c);
      const Affine<T, V, W> affine(of.gamma, of.beta, c);
      V v[W];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * channels + c;
        prefetch(x + at, kRowsAhead * channels, W * kLanesOf<V>);
        prefetch_to_write(y + at, kRowsAhead * channels, W * kLanesOf<V>);
        load_columns<T>(x + at, v);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
          v[w] = affine.of(normal.of(v[w], w), w);
          if constexpr (relu) v[w] = v[w] <= 0 ? V{} : v[w];
        }
        store_columns<T>(y + at, v);
      }
    });
  });
}

}  // namespace plimsoll::batch_norm_detail
