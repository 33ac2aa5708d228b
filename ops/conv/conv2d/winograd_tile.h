// The transforms of winograd.h, a vector of channels at a time, and where tiles lie in the images.
#pragma once

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "ops/conv/conv2d/window.h"

namespace plimsoll::winograd {

// Tiles of 2 x 2 results, over all images; the last row and column may stick out.
struct TileGrid {
  int64_t images, rows, cols;
  explicit TileGrid(const Window& win, int64_t n)
      : images(n), rows(pieces(win.h.out, 2)), cols(pieces(win.w.out, 2)) {}
  int64_t count() const { return images * rows * cols; }
};

// to[p * step] = place p of B' d B, where d[4 i + j] is the address of pixel (i, j).
template <class V, class T>
void transform_pixels(const T* const* d, int64_t c, float* to, int64_t step) {
  V half[4][4];  // B' d
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const V d0 = load_as<V>(d[j] + c), d1 = load_as<V>(d[4 + j] + c);
    const V d2 = load_as<V>(d[8 + j] + c), d3 = load_as<V>(d[12 + j] + c);
    half[0][j] = d0 - d2;
    half[1][j] = d1 + d2;
    half[2][j] = d2 - d1;
    half[3][j] = d1 - d3;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i, to += 4 * step) {
    store(to, half[i][0] - half[i][2]);
    store(to + step, half[i][1] + half[i][2]);
    store(to + 2 * step, half[i][2] - half[i][1]);
    store(to + 3 * step, half[i][1] - half[i][3]);
  }
}

// y[2 i + j] = result (i, j) of A' m A, with place p of m at from[p * step].
template <class V>
void transform_sums(const float* from, int64_t step, V* y) {
  V half[2][4];  // A' m
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const V m0 = load<V>(from + j * step), m1 = load<V>(from + (4 + j) * step),
            m2 = load<V>(from + (8 + j) * step), m3 = load<V>(from + (12 + j) * step);
    half[0][j] = m0 + m1 + m2;
    half[1][j] = m1 - m2 - m3;
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    y[2 * i] = half[i][0] + half[i][1] + half[i][2];
    y[2 * i + 1] = half[i][1] - half[i][2] - half[i][3];
  }
}

// to[p * step] = place p of A dy A', with y as above.
template <class V>
void transform_results(const V* y, float* to, int64_t step) {
  V half[4][2];  // A dy
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
    half[0][j] = y[j];
    half[1][j] = y[j] + y[2 + j];
    half[2][j] = y[j] - y[2 + j];
    half[3][j] = -y[2 + j];
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i, to += 4 * step) {
    store(to, half[i][0]);
    store(to + step, half[i][0] + half[i][1]);
    store(to + 2 * step, half[i][0] - half[i][1]);
    store(to + 3 * step, -half[i][1]);
  }
}

// u[p * step] = place p of G g G' for one filter g[3 r + s].
inline void transform_filter(const float* g, float* u, int64_t step) {
  float half[4][3];  // G g
  for (int s = 0; s < 3; ++s) {
    const float even = 0.5f * (g[s] + g[6 + s]), odd = 0.5f * g[3 + s];
    half[0][s] = g[s];
    half[1][s] = even + odd;
    half[2][s] = even - odd;
    half[3][s] = g[6 + s];
  }
  for (int i = 0; i < 4; ++i, u += 4 * step) {
    const float even = 0.5f * (half[i][0] + half[i][2]), odd = 0.5f * half[i][1];
    u[0] = half[i][0];
    u[step] = even + odd;
    u[2 * step] = even - odd;
    u[3 * step] = half[i][2];
  }
}

// dg[3 r + s] = element (r, s) of G' u G, with place p of u at u[p].
template <class V>
void transform_filter_grad(const V* u, V* dg) {
  V half[3][4];  // G' u
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    half[0][j] = u[j] + 0.5f * (u[4 + j] + u[8 + j]);
    half[1][j] = 0.5f * (u[4 + j] - u[8 + j]);
    half[2][j] = 0.5f * (u[4 + j] + u[8 + j]) + u[12 + j];
  }
#pragma GCC unroll 3
  for (int r = 0; r < 3; ++r) {
    const V sum = 0.5f * (half[r][1] + half[r][2]);
    dg[3 * r] = half[r][0] + sum;
    dg[3 * r + 1] = 0.5f * (half[r][1] - half[r][2]);
    dg[3 * r + 2] = sum + half[r][3];
  }
}

// One tile of the grid: the addresses of its pixels, and which of its results lie in the image.
template <class T>
struct TileAt {
  const T* pixels[16];
  int64_t image, row, col;  // of the first result

  // Pixels outside the image are read from `zeros`, `channels` of them.
  TileAt(const TileGrid& grid, const Window& win, const T* x, int64_t channels, const T* zeros,
         int64_t number)
      : image(number / (grid.rows * grid.cols)),
        row(number / grid.cols % grid.rows * 2),
        col(number % grid.cols * 2) {
    const T* from = x + image * win.h.in * win.w.in * channels;
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t h = win.h.origin + row + i, w = win.w.origin + col + j;
        const bool inside = h >= 0 && h < win.h.in && w >= 0 && w < win.w.in;
        pixels[4 * i + j] = inside ? from + (h * win.w.in + w) * channels : zeros;
      }
  }
  bool has(const Window& win, int64_t i, int64_t j) const {
    return row + i < win.h.out && col + j < win.w.out;
  }
  int64_t result(const Window& win, int64_t i, int64_t j) const {  // pixel number in the batch
    return (image * win.h.out + row + i) * win.w.out + col + j;
  }
};

}  // namespace plimsoll::winograd
