// The innermost loops of convolution: blocks of results that stay in vector registers while the sum
// over the taps runs.
#pragma once

#include "core/cpu/gemm/bfloat16_dot.h"
#include "core/cpu/vector.h"

namespace plimsoll::block {

// Where the taps of a window lie, from its first element on: rows x cols runs of `run` elements.
struct Taps {
  int64_t rows, cols, run;
  int64_t row_step, col_step, run_step = 1;
};

// y[j] = sum[j] + bias, or sum[j] where bias is nullptr.
template <class V, int W, class T, int R>
void store_sums(const V (&sum)[R][W], const T* bias, T* const* y) {
  constexpr int64_t lanes = kLanesOf<V>;
#pragma GCC unroll 16
  for (int v = 0; v < W; ++v) {
    const V add = bias ? load<V>(bias + v * lanes) : V{};
#pragma GCC unroll 16
    for (int j = 0; j < R; ++j) store(y[j] + v * lanes, sum[j][v] + add);
  }
}

// y[j][0 .. W V) = bias[0 .. W V) + sum over the taps t of x[j][t] * w[t][0 .. W V), for R windows
// j. Without a bias it is nullptr. E: float, double, or pairs of bfloat16. In a function of its own
// the sums stay in registers.
template <class E, int W, int R>
[[gnu::noinline]] void dot(const E* const* x, const Taps& taps, const E* w,
                           const Accumulator<E>* bias, Accumulator<E>* const* y) {
  constexpr int64_t lanes = kLanes<E>;
  Vector<Accumulator<E>> sum[R][W] = {};
  for (int64_t row = 0; row < taps.rows; ++row) {
    for (int64_t col = 0; col < taps.cols; ++col) {
      const int64_t first = row * taps.row_step + col * taps.col_step;
      for (int64_t t = first; t < first + taps.run; ++t, w += W * lanes) {
        Vector<E> filter[W];
#pragma GCC unroll 16
        for (int v = 0; v < W; ++v) filter[v] = load<Vector<E>>(w + v * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < R; ++j)
#pragma GCC unroll 16
          for (int v = 0; v < W; ++v) add_product(sum[j][v], x[j][t], filter[v]);
      }
    }
  }
  store_sums(sum, bias, y);
}

// The same, channel by channel: y[j][c] = bias[c] + sum over t of x[j][t + c] * w[t][c], rows of w
// being w_step apart.
template <class V, int W, class T, int R>
void dot_channels(const T* const* x, const Taps& taps, const T* w, int64_t w_step, const T* bias,
                  T* const* y) {
  constexpr int64_t lanes = kLanesOf<V>;
  V sum[R][W] = {};
  for (int64_t row = 0; row < taps.rows; ++row) {
    for (int64_t col = 0; col < taps.cols; ++col) {
      int64_t t = row * taps.row_step + col * taps.col_step;
      for (int64_t i = 0; i < taps.run; ++i, t += taps.run_step, w += w_step) {
        V filter[W];
#pragma GCC unroll 16
        for (int v = 0; v < W; ++v) filter[v] = load<V>(w + v * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < R; ++j)
#pragma GCC unroll 16
          for (int v = 0; v < W; ++v) sum[j][v] += load<V>(x[j] + t + v * lanes) * filter[v];
      }
    }
  }
  store_sums(sum, bias, y);
}

// A rectangle of windows to sum over: element 0 of each, in x and in dy.
struct Field {
  int64_t rows, cols;
  int64_t x_row, x_col, dy_row, dy_col;
};

// dw[j][0 .. W V) += sum over the windows of x[j] * dy[0 .. W V), for R neighbouring elements j of
// x; rows of dw are dw_step apart. E as in dot().
template <class E, int W, int R>
[[gnu::noinline]] void outer(const E* x, const E* dy, const Field& f, Accumulator<E>* dw,
                             int64_t dw_step) {
  constexpr int64_t lanes = kLanes<E>;
  using V = Vector<Accumulator<E>>;
  V sum[R][W] = {};
  for (int64_t row = 0; row < f.rows; ++row) {
    const E *a = x + row * f.x_row, *b = dy + row * f.dy_row;
    for (int64_t col = 0; col < f.cols; ++col, a += f.x_col, b += f.dy_col) {
      Vector<E> g[W];
#pragma GCC unroll 16
      for (int v = 0; v < W; ++v) g[v] = load<Vector<E>>(b + v * lanes);
#pragma GCC unroll 16
      for (int j = 0; j < R; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < W; ++v) add_product(sum[j][v], a[j], g[v]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < R; ++j)
#pragma GCC unroll 16
    for (int v = 0; v < W; ++v) {
      Accumulator<E>* to = dw + j * dw_step + v * lanes;
      store(to, load<V>(to) + sum[j][v]);
    }
}

// The same, channel by channel, for R taps j that lie x_step apart:
// dw[j][c] += sum over the windows of x[j x_step + c] * dy[c].
template <class V, int W, class T, int R>
void outer_channels(const T* x, int64_t x_step, const T* dy, const Field& f, T* dw,
                    int64_t dw_step) {
  constexpr int64_t lanes = kLanesOf<V>;
  V sum[R][W] = {};
  for (int64_t row = 0; row < f.rows; ++row) {
    const T *a = x + row * f.x_row, *b = dy + row * f.dy_row;
    for (int64_t col = 0; col < f.cols; ++col, a += f.x_col, b += f.dy_col)
#pragma GCC unroll 16
      for (int v = 0; v < W; ++v) {
        const V g = load<V>(b + v * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < R; ++j) sum[j][v] += load<V>(a + j * x_step + v * lanes) * g;
      }
  }
#pragma GCC unroll 16
  for (int j = 0; j < R; ++j)
#pragma GCC unroll 16
    for (int v = 0; v < W; ++v) {
      T* to = dw + j * dw_step + v * lanes;
      store(to, load<V>(to) + sum[j][v]);
    }
}

}  // namespace plimsoll::block
