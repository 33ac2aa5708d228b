// Patch: the pixels that the windows of one tile read, with zeros for those outside the image, in
// the type that the kernels multiply. Where the image itself will do, nothing is copied.
//
//   const auto patch = load_patch<float>(x, win, tile, {.channels = c}, scratch);
//   patch.data + i * patch.row + j * patch.col       // pixel (i, j) of the patch
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/base/dtype.h"
#include "core/cpu/gemm/pairs.h"
#include "core/cpu/vector.h"
#include "ops/conv/conv2d/window.h"

namespace plimsoll {

template <class T>
struct Patch {
  const T* data;
  int64_t row, col;  // elements from pixel to pixel
};

// How the channels of a pixel are laid out in the patch. Depthwise kernels walk over O = C m
// channels side by side: `repeat` writes each of the C channels m times, and `regroup` turns O
// channels from [C, m] into [m, C].
struct ChannelLayout {
  enum Kind { same, repeat, regroup } kind = same;
  int64_t channels;        // of the patch
  int64_t multiplier = 1;  // m
};

template <class To, class T>
void load_pixels(const T* from, int64_t n, const ChannelLayout& layout, To* to) {
  const int64_t m = layout.multiplier, few = layout.channels / m;
  if (layout.kind == ChannelLayout::same || m == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n * layout.channels; ++i) to[i] = static_cast<To>(from[i]);
  } else if (layout.kind == ChannelLayout::repeat) {
    const auto repeat = [&](auto times) {
      for (int64_t i = 0; i < n * few; ++i)
        for (int64_t j = 0; j < times; ++j) to[i * times + j] = static_cast<To>(from[i]);
    };
    // So few times as a constant become shuffles of vectors.
    if (m <= 4)
      with_count<4>(m, [&]<int M>() { repeat(std::integral_constant<int64_t, M>()); });
    else
      repeat(m);
  } else {
    for (int64_t i = 0; i < n; ++i, from += few * m)
      for (int64_t j = 0; j < m; ++j, to += few)
#pragma omp simd
        for (int64_t c = 0; c < few; ++c) to[c] = static_cast<To>(from[c * m + j]);
  }
}

template <class To, class T>
Patch<To> load_patch(const T* x, const Window& win, const Tile& tile, const ChannelLayout& layout,
                     To* scratch) {
  const int64_t top = win.h.origin + tile.row * win.h.step;
  const int64_t left = win.w.origin + tile.col * win.w.step;
  const int64_t rows = win.h.reach(tile.rows), cols = win.w.reach(tile.cols);
  const int64_t c = layout.channels;
  const bool repeats = layout.kind == ChannelLayout::repeat && layout.multiplier > 1;
  const int64_t from_c = repeats ? c / layout.multiplier : c;
  const T* image = x + tile.image * win.h.in * win.w.in * from_c;
  if constexpr (std::is_same_v<T, To>) {
    const bool inside = top >= 0 && left >= 0 && top + rows <= win.h.in && left + cols <= win.w.in;
    if (inside && (layout.kind == ChannelLayout::same || layout.multiplier == 1))
      return {image + (top * win.w.in + left) * c, win.w.in * c, c};
  }
  // Of each row, `before` pixels lie left of the image and those from `after` on right of it.
  const int64_t before = std::clamp<int64_t>(-left, 0, cols);
  const int64_t after = std::clamp<int64_t>(win.w.in - left, before, cols);
  for (int64_t i = 0; i < rows; ++i) {
    To* to = scratch + i * cols * c;
    if (top + i < 0 || top + i >= win.h.in) {
      std::fill_n(to, cols * c, To{});
      continue;
    }
    std::fill_n(to, before * c, To{});
    load_pixels(image + ((top + i) * win.w.in + left + before) * from_c, after - before, layout,
                to + before * c);
    std::fill_n(to + after * c, (cols - after) * c, To{});
  }
  return {scratch, cols * c, c};
}

// For a sum over windows, whose terms are pixels: each pixel of the patch beside the one that the
// next window has in its place, `step` columns further on. That is 0 beyond the patch, and
// everywhere in the patch of a single column of windows.
inline Patch<BFloat16Pair> load_pairs_of_pixels(const BFloat16* x, const Window& win,
                                                const Tile& tile, int64_t channels,
                                                BFloat16Pair* scratch) {
  const int64_t top = win.h.origin + tile.row * win.h.step;
  const int64_t left = win.w.origin + tile.col * win.w.step;
  const int64_t rows = win.h.reach(tile.rows), cols = win.w.reach(tile.cols);
  const int64_t step = tile.cols > 1 ? win.w.step : cols;
  const BFloat16* const image = x + tile.image * win.h.in * win.w.in * channels;
  // Columns [first, last) of the patch lie in the image, and up to `whole` their partners too.
  const int64_t first = std::clamp<int64_t>(-left, 0, cols);
  const int64_t last = std::clamp<int64_t>(win.w.in - left, first, cols);
  const int64_t whole = std::max(first, last - step);
  for (int64_t i = 0; i < rows; ++i) {
    BFloat16Pair* to = scratch + i * cols * channels;
    if (top + i < 0 || top + i >= win.h.in) {
      std::fill_n(to, cols * channels, BFloat16Pair{});
      continue;
    }
    const auto pixel = [&](int64_t col) {
      return image + ((top + i) * win.w.in + left + col) * channels;
    };
    const auto edge = [&](int64_t begin, int64_t end) {
      for (int64_t col = begin; col < end; ++col) {
        const bool inside = first <= col && col < last;
        const bool partner_inside = first <= col + step && col + step < last;
        const BFloat16 *own = inside ? pixel(col) : nullptr,
                       *partner = partner_inside ? pixel(col + step) : nullptr;
        for (int64_t c = 0; c < channels; ++c)
          to[col * channels + c] = {own ? own[c] : BFloat16{}, partner ? partner[c] : BFloat16{}};
      }
    };
    edge(0, first);
    if (first < whole)
      interleave(pixel(first), pixel(first + step), (whole - first) * channels,
                 to + first * channels);
    edge(whole, cols);
  }
  return {scratch, cols * channels, channels};
}

}  // namespace plimsoll
