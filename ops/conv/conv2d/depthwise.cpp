#include "ops/conv/conv2d/depthwise.h"

#include "core/cpu/slots.h"
#include "core/cpu/vector.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/patch.h"

namespace plimsoll {
namespace {

using namespace block;

constexpr int kWindows = kBlockRows / 2;  // at a time: leaves registers for the operands

// The sum for result channel d runs over rows x cols x inner taps. Forward: d is one of the O
// channels, a patch repeats the inputs to match, and inner is 1. Input gradient: d is one of the C
// channels, a patch has dy regrouped as [m, C], and inner is m.
template <class C>
struct Sum {
  Window win;
  ChannelLayout layout;
  int64_t images, results, inner;
  const C* w;               // [rows, cols, inner, results]
  const C* bias = nullptr;  // [results], if there is one
};

// One tile: windows in blocks of kWindows, channels in blocks of W vectors V, for as long as whole
// blocks fit. Returns the first channel that is left.
template <class V, int W, class T>
int64_t tile_channels(const Sum<Compute<T>>& sum, const Patch<Compute<T>>& patch, const Tile& tile,
                      int64_t first, T* y) {
  using C = Compute<T>;
  constexpr int64_t width = W * kLanesOf<V>;
  const Taps taps{.rows = sum.win.h.taps,
                  .cols = sum.win.w.taps,
                  .run = sum.inner,
                  .row_step = sum.win.h.pitch * patch.row,
                  .col_step = sum.win.w.pitch * patch.col,
                  .run_step = sum.results};
  const int64_t windows = tile.rows * tile.cols, blocks = pieces(windows, kWindows);
  for (; first + width <= sum.results; first += width) {
    int64_t row = 0, col = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t n = windows * (b + 1) / blocks - windows * b / blocks;
      const C* x[kWindows];
      T* results[kWindows];
      C* out[kWindows];
      C staged[kWindows * width];
      for (int64_t j = 0; j < n; ++j) {
        x[j] = patch.data + row * sum.win.h.step * patch.row + col * sum.win.w.step * patch.col +
               first;
        results[j] =
            y + (row * sum.win.h.stride * sum.win.w.total + col * sum.win.w.stride) * sum.results +
            first;
        if constexpr (std::is_same_v<T, C>)
          out[j] = results[j];
        else
          out[j] = staged + j * width;
        if (++col == tile.cols) col = 0, ++row;
      }
      with_count<kWindows>(n, [&]<int R>() {
        dot_channels<V, W, C, R>(x, taps, sum.w + first, sum.results,
                                 sum.bias ? sum.bias + first : nullptr, out);
      });
      if constexpr (!std::is_same_v<T, C>)
        for (int64_t j = 0; j < n; ++j)
#pragma omp simd
          for (int64_t c = 0; c < width; ++c) results[j][c] = narrow<T>(out[j][c]);
    }
  }
  return first;
}

template <class T>
void depthwise(const Sum<Compute<T>>& sum, const T* x, T* y, std::span<std::byte> scratch) {
  using C = Compute<T>;
  const Axis &h = sum.win.h, &w = sum.win.w;
  const Tiles tiles(sum.win, sum.images, sum.layout.channels);
  for_each_with_slot(tiles.count(), scratch, tiles.patch() * int64_t{sizeof(C)},
                     [&](int64_t number, std::byte* slot) {
                       const Tile tile = tiles[number];
                       const Patch<C> patch =
                           load_patch<C>(x, sum.win, tile, sum.layout, reinterpret_cast<C*>(slot));
                       T* result =
                           y + ((tile.image * h.total + h.start + tile.row * h.stride) * w.total +
                                w.start + tile.col * w.stride) *
                                   sum.results;
                       int64_t c = tile_channels<Vector<C>, 2>(sum, patch, tile, 0, result);
                       c = tile_channels<Vector<C>, 1>(sum, patch, tile, c, result);
                       tile_channels<C, 1>(sum, patch, tile, c, result);
                     });
}

int64_t filter_bytes(const ConvSizes& s, DType dtype) {  // and the bias'
  return block_bytes((s.taps() + 1) * s.o * (dtype == DType::f64 ? 8 : 4));
}

}  // namespace

int64_t depthwise_workspace(const ConvSizes& s, const Window& win, DType dtype) {
  const Tiles tiles(win, s.n, s.o);
  return filter_bytes(s, dtype) +
         slots_bytes(tiles.count(), tiles.patch() * (dtype == DType::f64 ? 8 : 4));
}

void depthwise_forward_cpu(const ConvSizes& s, const View& x, const View& w, const View& bias,
                           const View& y, std::span<std::byte> workspace) {
  visit_floating("conv2d", y.dtype(), [&]<class T>() {
    auto* filter = reinterpret_cast<Compute<T>*>(workspace.data());  // [KH, KW, O]
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      for (int64_t o = 0; o < s.o; ++o)
        filter[tap * s.o + o] = static_cast<Compute<T>>(w.as<T>()[o * s.taps() + tap]);
    auto* own_bias = bias.data ? filter + s.taps() * s.o : nullptr;
    if (own_bias)
      for (int64_t o = 0; o < s.o; ++o) own_bias[o] = static_cast<Compute<T>>(bias.as<T>()[o]);
    depthwise<T>({.win = forward_window(s),
                  .layout = {ChannelLayout::repeat, s.o, s.o / s.c},
                  .images = s.n,
                  .results = s.o,
                  .inner = 1,
                  .w = filter,
                  .bias = own_bias},
                 x.as<T>(), y.as<T>(), workspace.subspan(size_t(filter_bytes(s, y.dtype()))));
  });
}

void depthwise_input_grad_cpu(const ConvSizes& s, Pair remainder, const View& dy, const View& w,
                              const View& dx, std::span<std::byte> workspace) {
  visit_floating("conv2d_input_grad", dx.dtype(), [&]<class T>() {
    const Window win = input_grad_window(s, remainder);
    const int64_t m = s.o / s.c;
    auto* filter = reinterpret_cast<Compute<T>*>(workspace.data());  // [rows, cols, m, C]
    auto* to = filter;
    for (int64_t i = 0; i < win.h.taps; ++i)
      for (int64_t j = 0; j < win.w.taps; ++j) {
        const int64_t tap =
            (win.h.first_tap + i * win.h.tap_step) * s.kw + win.w.first_tap + j * win.w.tap_step;
        for (int64_t k = 0; k < m; ++k)
          for (int64_t c = 0; c < s.c; ++c)
            *to++ = static_cast<Compute<T>>(w.as<T>()[(c * m + k) * s.taps() + tap]);
      }
    depthwise<T>({.win = win,
                  .layout = {ChannelLayout::regroup, s.o, m},
                  .images = s.n,
                  .results = s.c,
                  .inner = m,
                  .w = filter},
                 dy.as<T>(), dx.as<T>(), workspace.subspan(size_t(filter_bytes(s, dx.dtype()))));
  });
}

}  // namespace plimsoll
