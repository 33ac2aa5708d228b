// The transforms of winograd.h, a vector of channels at a time, and where tiles lie in the images.
#pragma once

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "ops/conv/conv2d/window.h"

namespace plimsoll::winograd {

constexpr int kPoints = 6, kPlaces = kPoints * kPoints;
// Floats between places, so that a tile's do not all fall to one set of the cache, which would take
// four times as long.
constexpr int64_t kGap = kLanes<float>;
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;

// What the way back from values at the points divides by: the product of a point's distances from
// the other finite ones, which is the same for a point and its negative.
constexpr float kDivisors[kPoints] = {kA2 * kB2,           2 * kA2*(kA2 - kB2), 2 * kA2*(kA2 - kB2),
                                      2 * kB2*(kB2 - kA2), 2 * kB2*(kB2 - kA2), 1};

// ---- one axis

// E_n: the values of c[0] + c[1] t + c[2] t^2 + ... at the points.
struct Evaluate {
  template <class V, int N>
  static void apply(const V (&c)[N], V (&value)[kPoints]) {
    const auto at = [&](float t, V& plus, V& minus) {
      V even = c[(N - 1) / 2 * 2], odd = c[(N - 2) / 2 * 2 + 1];
#pragma GCC unroll 2
      for (int k = (N - 1) / 2 * 2 - 2; k >= 0; k -= 2) even = c[k] + t * t * even;
#pragma GCC unroll 2
      for (int k = (N - 2) / 2 * 2 - 1; k >= 1; k -= 2) odd = c[k] + t * t * odd;
      plus = even + t * odd;
      minus = even - t * odd;
    };
    value[0] = c[0];
    at(kA, value[1], value[2]);
    at(kB, value[3], value[4]);
    value[5] = c[N - 1];
  }
};

// E_n': c[k] = the sum of the values times their points to the power k.
struct EvaluateTransposed {
  template <class V, int N>
  static void apply(const V (&value)[kPoints], V (&c)[N]) {
    const V even_a = value[1] + value[2], even_b = value[3] + value[4];
    const V odd_a = kA * (value[1] - value[2]), odd_b = kB * (value[3] - value[4]);
    c[0] = value[0] + even_a + even_b;
    c[1] = odd_a + odd_b;
    if constexpr (N > 2) c[2] = kA2 * even_a + kB2 * even_b;
    if constexpr (N > 3) c[3] = kA2 * odd_a + kB2 * odd_b;
    if constexpr (N > 4) c[4] = kA2 * kA2 * even_a + kB2 * kB2 * even_b;
    c[N - 1] += value[5];
  }
};

// B': row t has the coefficients of the product of (s - u) over the finite points u other than t;
// for infinity, over all of them.
struct Interpolate {
  template <class V>
  static void apply(const V (&d)[kPoints], V (&value)[kPoints]) {
    const V even_a = d[4] - kB2 * d[2], odd_a = kA * (d[3] - kB2 * d[1]);
    const V even_b = d[4] - kA2 * d[2], odd_b = kB * (d[3] - kA2 * d[1]);
    value[0] = kA2 * kB2 * d[0] - (kA2 + kB2) * d[2] + d[4];
    value[1] = even_a + odd_a;
    value[2] = even_a - odd_a;
    value[3] = even_b + odd_b;
    value[4] = even_b - odd_b;
    value[5] = kA2 * kB2 * d[1] - (kA2 + kB2) * d[3] + d[5];
  }
};

// ---- both axes

template <class Transform, class V, int N, int M>
[[gnu::always_inline]] inline void along_both(const V (&from)[N][N], V (&to)[M][M]) {
  V half[N][M];
#pragma GCC unroll 6
  for (int i = 0; i < N; ++i) Transform::apply(from[i], half[i]);
#pragma GCC unroll 6
  for (int j = 0; j < M; ++j) {
    V column[N], result[M];
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) column[i] = half[i][j];
    Transform::apply(column, result);
#pragma GCC unroll 6
    for (int i = 0; i < M; ++i) to[i][j] = result[i];
  }
}

// to[p * step] = place p.
template <class V>
[[gnu::always_inline]] inline void store_places(const V (&value)[kPoints][kPoints], float* to,
                                                int64_t step) {
#pragma GCC unroll 6
  for (const auto& row : value)
#pragma GCC unroll 6
    for (const V& v : row) {
      store(to, v);
      to += step;
    }
}

template <class V>
[[gnu::always_inline]] inline void load_places(const float* from, int64_t step,
                                               V (&value)[kPoints][kPoints]) {
#pragma GCC unroll 6
  for (auto& row : value)
#pragma GCC unroll 6
    for (V& v : row) {
      v = load<V>(from);
      from += step;
    }
}

// Place (i, j) by the divisors of its points.
template <class V>
[[gnu::always_inline]] inline void divide(V (&value)[kPoints][kPoints]) {
#pragma GCC unroll 6
  for (int i = 0; i < kPoints; ++i)
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j) value[i][j] *= 1 / (kDivisors[i] * kDivisors[j]);
}

// ---- tiles

// Tiles of kResults x kResults results for filters of R x R, over all images; the last row and
// column may stick out.
template <int R>
struct TileGrid {
  static constexpr int64_t kResults = kPoints - R + 1;
  int64_t images, rows, cols;
  TileGrid(const Window& win, int64_t n)
      : images(n), rows(pieces(win.h.out, kResults)), cols(pieces(win.w.out, kResults)) {}
  int64_t count() const { return images * rows * cols; }
};

// The same for the filter that the window has, of 3 or of 5 taps on each axis.
inline int64_t tile_count(const Window& win, int64_t images) {
  return win.h.taps == 3 ? TileGrid<3>(win, images).count() : TileGrid<5>(win, images).count();
}

// One tile of the grid, and which of its results lie in the image.
template <int R>
struct TileAt {
  static constexpr int64_t kResults = TileGrid<R>::kResults;
  const Window& win;
  int64_t image, row, col;  // of the first result

  TileAt(const TileGrid<R>& grid, const Window& win, int64_t number)
      : win(win),
        image(number / (grid.rows * grid.cols)),
        row(number / grid.cols % grid.rows * kResults),
        col(number % grid.cols * kResults) {}
  // f(i, j, pixel number in the batch) for the results that lie in the image.
  template <class F>
  void for_each_result(const F& f) const {
    const int64_t first = (image * win.h.out + row) * win.w.out + col;
    for (int64_t i = 0; i < std::min(kResults, win.h.out - row); ++i)
      for (int64_t j = 0; j < std::min(kResults, win.w.out - col); ++j)
        f(i, j, first + i * win.w.out + j);
  }
};

// The addresses of a tile's pixels; those outside the image are read from `zeros`.
template <class T>
struct TilePixels {
  const T* at[kPoints][kPoints];

  template <int R>
  TilePixels(const TileAt<R>& tile, const T* x, int64_t channels, const T* zeros) {
    const Axis &h = tile.win.h, &w = tile.win.w;
    const int64_t row = h.origin + tile.row, col = w.origin + tile.col;
    const int64_t first = (tile.image * h.in + row) * w.in + col;
    for (int i = 0; i < kPoints; ++i)
      for (int j = 0; j < kPoints; ++j) {
        const bool inside = row + i >= 0 && row + i < h.in && col + j >= 0 && col + j < w.in;
        at[i][j] = inside ? x + (first + i * w.in + j) * channels : zeros;
      }
  }
  // to[p * step] = place p of B' d B, for a vector of channels from channel c on.
  template <class V>
  void transform(int64_t c, float* to, int64_t step) const {
    V d[kPoints][kPoints], value[kPoints][kPoints];
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i)
#pragma GCC unroll 6
      for (int j = 0; j < kPoints; ++j) d[i][j] = load_as<V>(at[i][j] + c);
    along_both<Interpolate>(d, value);
    store_places(value, to, step);
  }
};

}  // namespace plimsoll::winograd
