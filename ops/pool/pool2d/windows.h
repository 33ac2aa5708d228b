// How windows lie over an image, and a walk over blocks of channels, for the pooling kernels.
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "core/cpu/parallel.h"
#include "core/engine/op.h"
#include "ops/pool/pool2d/pool2d.h"

namespace plimsoll {

// Attributes of the pooling ops: windows of a fixed size, or so many that cover the image evenly.
struct PoolSpec {
  Pool2dAttrs pool;
  std::optional<Pair> outputs{};  // none: `pool` tells
  bool operator==(const PoolSpec&) const = default;

  bool adaptive() const { return outputs.has_value(); }
};

constexpr int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// One axis. Tap t of window i reads pixel first(i) + t dilation, where there is one.
struct PoolAxis {
  int64_t in, out;           // pixels, windows
  int64_t window, dilation;  // taps of the largest window, and their distance
  int64_t stride, before, after;
  bool adaptive;

  constexpr int64_t first(int64_t i) const { return adaptive ? i * in / out : i * stride - before; }
  constexpr int64_t taps(int64_t i) const {
    return adaptive ? divide_up((i + 1) * in, out) - first(i) : window;
  }
  // Taps whose pixels lie among the next n: divisions by 1 are worth avoiding.
  constexpr int64_t steps(int64_t n) const { return dilation == 1 ? n : divide_up(n, dilation); }
  // Taps [begin, end) of window i lie before pixel `limit`, and not before pixel 0.
  constexpr int64_t begin(int64_t i) const { return std::max<int64_t>(steps(-first(i)), 0); }
  constexpr int64_t end(int64_t i, int64_t limit) const {
    return std::clamp<int64_t>(steps(limit - first(i)), 0, taps(i));
  }
  // Every pixel is in one window.
  constexpr bool tiled() const {
    return !adaptive && dilation == 1 && before == 0 && stride == window && out * stride == in;
  }
  // Taps that a mean divides by.
  constexpr int64_t counted(int64_t i, bool include_padding) const {
    return include_padding ? end(i, in + after) : std::max<int64_t>(end(i, in) - begin(i), 0);
  }

  // f(tap, window) for every window that pixel y is in.
  template <class F>
  constexpr void for_each_window(int64_t y, F&& f) const {
    if (adaptive) {
      for (int64_t i = y * out / in; i < divide_up((y + 1) * out, in); ++i) f(y - first(i), i);
      return;
    }
    const int64_t span = (window - 1) * dilation + 1, place = y + before;
    for (int64_t i = std::min(place / stride, out - 1); i >= 0; --i) {
      const int64_t offset = place - i * stride;
      if (offset >= span) break;
      if (dilation == 1)
        f(offset, i);
      else if (offset % dilation == 0)
        f(offset / dilation, i);
    }
  }
};

struct PoolWindows {
  int64_t n, c;
  PoolAxis h, w;  // image [n, h.in, w.in, c], result [n, h.out, w.out, c]
  bool include_padding;
  bool whole;  // means divide by whole windows: nothing hangs over, or is left out

  PoolWindows(const Shape& image, const Shape& result, const PoolSpec& spec);

  constexpr int64_t area() const { return h.window * w.window; }
  constexpr int64_t pixels() const { return n * h.in * w.in; }
  constexpr int64_t pixel(int64_t image, int64_t y, int64_t x) const {
    return (image * h.in + y) * w.in + x;
  }
  constexpr int64_t window(int64_t image, int64_t i, int64_t j) const {
    return (image * h.out + i) * w.out + j;
  }
  constexpr int64_t results() const { return n * h.out * w.out; }
  // What the sum over window number `result` (of all images) is divided by.
  constexpr int64_t counted(int64_t result) const {
    if (whole) return area();
    const int64_t own = h.counted(result / w.out % h.out, include_padding) *
                        w.counted(result % w.out, include_padding);
    return std::max<int64_t>(own, 1);
  }

  // f(place in the window, pixel number) for the pixels that window number `result` reads, in row
  // order.
  template <class F>
  constexpr void for_each_pixel(int64_t result, F&& f) const {
    for_each_pixel(result / w.out / h.out, result / w.out % h.out, result % w.out, f);
  }
  template <class F>
  constexpr void for_each_pixel(int64_t image, int64_t i, int64_t j, F&& f) const {
    const int64_t top = h.first(i), left = w.first(j);
    const int64_t rows = h.end(i, h.in), columns = w.end(j, w.in), begin = w.begin(j);
    for (int64_t r = h.begin(i); r < rows; ++r) {
      const int64_t line = (image * h.in + top + r * h.dilation) * w.in + left;
      for (int64_t s = begin; s < columns; ++s) f(r * w.window + s, line + s * w.dilation);
    }
  }

  // f(place in the window, window number) for the windows that pixel number `pixel` is in.
  template <class F>
  constexpr void for_each_window(int64_t pixel, F&& f) const {
    for_each_window(pixel / w.in / h.in, pixel / w.in % h.in, pixel % w.in, f);
  }
  template <class F>
  constexpr void for_each_window(int64_t image, int64_t y, int64_t x, F&& f) const {
    h.for_each_window(y, [&](int64_t r, int64_t i) {
      w.for_each_window(x, [&](int64_t s, int64_t j) { f(r * w.window + s, window(image, i, j)); });
    });
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

// Shape rule shared by all kinds of pooling, and what they call themselves.
struct PoolNames {
  const char *fixed, *adaptive;
};
Meta pooled(const PoolNames& names, const Meta& x, const PoolSpec& spec);

// Attributes of the gradients: those of the op and the size of its image.
struct PoolGradAttrs {
  PoolSpec spec;
  Shape image;
  bool operator==(const PoolGradAttrs&) const = default;
};

extern const OpDef max_pool2d_op, max_pool2d_grad_op;  // max_pool2d.cpp
extern const OpDef avg_pool2d_op, avg_pool2d_grad_op;  // avg_pool2d.cpp

}  // namespace plimsoll
