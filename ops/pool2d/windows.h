// How windows lie over an image, and a walk over blocks of channels, for the pooling kernels.
#pragma once

#include <array>
#include <limits>

#include "core/cpu/parallel.h"
#include "core/op.h"
#include "ops/pool2d/pool2d.h"

namespace plimsoll {

struct PoolWindows {
  int64_t n, h, w, c, p, q;  // image [n, h, w, c], result [n, p, q, c]
  Pool2dAttrs attrs;

  PoolWindows(const Shape& image, const Shape& result, const Pool2dAttrs& a)
      : n(image[0]), h(image[1]), w(image[2]), c(image[3]), p(result[1]), q(result[2]), attrs(a) {}

  // f(place in the window, offset of the image's pixel) for the pixels of window (i, j) that lie
  // inside the image, in row order.
  template <class F>
  void pixels(int64_t image, int64_t i, int64_t j, F&& f) const {
    for (int64_t r = 0; r < attrs.window.h; ++r) {
      const int64_t y = i * attrs.stride.h + r - attrs.padding.h;
      if (y < 0 || y >= h) continue;
      for (int64_t s = 0; s < attrs.window.w; ++s) {
        const int64_t x = j * attrs.stride.w + s - attrs.padding.w;
        if (x >= 0 && x < w) f(r * attrs.window.w + s, ((image * h + y) * w + x) * c);
      }
    }
  }

  // f(place in the window, offset of the result's pixel) for the windows that pixel (y, x) is in.
  template <class F>
  void windows(int64_t image, int64_t y, int64_t x, F&& f) const {
    for (int64_t r = 0; r < attrs.window.h; ++r) {
      const int64_t top = y + attrs.padding.h - r;
      if (top < 0 || top % attrs.stride.h != 0 || top / attrs.stride.h >= p) continue;
      for (int64_t s = 0; s < attrs.window.w; ++s) {
        const int64_t left = x + attrs.padding.w - s;
        if (left < 0 || left % attrs.stride.w != 0 || left / attrs.stride.w >= q) continue;
        f(r * attrs.window.w + s,
          ((image * p + top / attrs.stride.h) * q + left / attrs.stride.w) * c);
      }
    }
  }
};

// Channels are handled in blocks, whose sums or maxima stay in registers or the nearest cache.
constexpr int64_t kPoolBlock = 64;

// f(pixel number, first channel, number of channels) for every block of `pixels` pixels.
template <class F>
void for_each_block(int64_t pixels, int64_t channels, int64_t cost, F&& f) {
  parallel_for(pixels, grain_for(channels * cost), [&](int64_t begin, int64_t end) {
    for (int64_t pixel = begin; pixel < end; ++pixel)
      for (int64_t first = 0; first < channels; first += kPoolBlock)
        f(pixel, first, std::min(kPoolBlock, channels - first));
  });
}

// Places in a window are numbered in 32 bits.
constexpr int64_t kLargestWindow = std::numeric_limits<int32_t>::max();

// Shape rule shared by both kinds of pooling.
Meta pooled(const char* name, const Meta& x, const Pool2dAttrs& attrs);

// Attributes of the gradients: those of the op and the size of its image.
struct PoolGradAttrs {
  Pool2dAttrs pool;
  Shape image;
  bool operator==(const PoolGradAttrs&) const = default;
};

}  // namespace plimsoll
