#include "ops/conv/conv2d/dense.h"

#include "core/cpu/gemm/gemm16.h"
#include "core/cpu/slots.h"
#include "core/cpu/vector.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/implicit_gemm.h"
#include "ops/conv/conv2d/patch.h"
#include "ops/conv/conv2d/winograd.h"

namespace plimsoll {
namespace {

using namespace block;

// E is what is multiplied: numbers in the type that T is computed in, or pairs of neighbouring
// channels.

// The filters are copied into panels of kBlockColumns outputs each, [depth, outputs], so that one
// term of the sum for all of them is two vector loads; the bias is one more row. As many panels at
// a time as fit kPanelBytes.
constexpr int64_t kPanelBytes = 1 << 20;

template <class E>
struct Panels {
  int64_t per_group, total, elements, batch;
  explicit Panels(const DenseConv& conv)
      : per_group(pieces(conv.outputs, kBlockColumns<E>)),
        total(conv.groups * per_group),
        elements((conv.depth() / kTermsPerElement<E> + 1) * kBlockColumns<E>),
        batch(std::clamp<int64_t>(kPanelBytes / sizeof(E) / elements, 1,
                                  std::max<int64_t>(total, 1))) {}
  int64_t bytes() const { return block_bytes(batch * elements * static_cast<int64_t>(sizeof(E))); }
  // Outputs of panel number `panel`; the last one of a group may be narrower.
  int64_t width(const DenseConv& conv, int64_t panel) const {
    return std::min(kBlockColumns<E>, conv.outputs - panel % per_group * kBlockColumns<E>);
  }
};

template <class E>
int64_t vectors(int64_t width) {
  return width > kLanes<E> ? 2 : 1;
}

template <class E, class T>
E filter_element(const T* tap, [[maybe_unused]] int64_t next_channel) {
  if constexpr (kTermsPerElement<E> == 2)
    return {tap[0], tap[next_channel]};
  else
    return static_cast<E>(*tap);
}

template <class T, class E>
void fill_panel(const DenseConv& conv, const Panels<E>& panels, int64_t panel, const T* w,
                const T* bias, E* to) {
  using C = Accumulator<E>;
  const auto& s = conv.w;
  const int64_t width = panels.width(conv, panel), padded = vectors<E>(width) * kLanes<E>;
  const T* from = w + s.first + panel / panels.per_group * s.group +
                  panel % panels.per_group * kBlockColumns<E> * s.output;
  for (int64_t row = 0; row < conv.win.h.taps; ++row)
    for (int64_t col = 0; col < conv.win.w.taps; ++col)
      for (int64_t c = 0; c < conv.inputs; c += kTermsPerElement<E>, to += padded) {
        const T* tap = from + row * s.row + col * s.col + c * s.input;
        for (int64_t o = 0; o < width; ++o) to[o] = filter_element<E>(tap + o * s.output, s.input);
        std::fill(to + width, to + padded, E{});
      }
  if (!bias) return;
  bias += panel / panels.per_group * conv.outputs + panel % panels.per_group * kBlockColumns<E>;
  C* const sums = reinterpret_cast<C*>(to);
  for (int64_t o = 0; o < padded; ++o) sums[o] = o < width ? static_cast<C>(bias[o]) : C(0);
}

// The windows of a tile, one after another, as addresses: where each begins in the patch and where
// its result goes.
template <class T, class E>
struct Walk {
  const Patch<E>& patch;
  const Window& win;
  T* y;  // result of window (0, 0)
  int64_t channels;
  int64_t cols, row = 0, col = 0;

  const E* window() const {
    return patch.data + row * win.h.step * patch.row + col * win.w.step * patch.col;
  }
  T* result() const {
    return y + (row * win.h.stride * win.w.total + col * win.w.stride) * channels;
  }
  void next() {
    if (++col == cols) col = 0, ++row;
  }
};

// All windows of a tile with one panel of filters, at most kBlockRows windows at a time.
template <class T, class E, int W>
void tile_with_panel(Walk<T, E> walk, int64_t windows, const Taps& taps, int64_t width,
                     const E* panel, bool has_bias) {
  using C = Accumulator<E>;
  constexpr int64_t columns = W * kLanes<E>;
  // Results that are not whole vectors of T go through here.
  alignas(kVectorBytes) C staged[kBlockRows * columns];
  const bool direct = std::is_same_v<T, C> && width == columns;
  const C* const bias =
      has_bias ? reinterpret_cast<const C*>(panel + taps.rows * taps.cols * taps.run * columns)
               : nullptr;
  const int64_t blocks = pieces(windows, kBlockRows);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t n = windows * (b + 1) / blocks - windows * b / blocks;
    const E* x[kBlockRows];
    T* results[kBlockRows];
    C* y[kBlockRows];
    for (int64_t j = 0; j < n; ++j, walk.next()) {
      x[j] = walk.window();
      results[j] = walk.result();
      y[j] = direct ? reinterpret_cast<C*>(results[j]) : staged + j * columns;
    }
    with_count<kBlockRows>(n, [&]<int R>() { dot<E, W, R>(x, taps, panel, bias, y); });
    if (direct) continue;
    for (int64_t j = 0; j < n; ++j)
#pragma omp simd
      for (int64_t o = 0; o < width; ++o) results[j][o] = narrow<T>(y[j][o]);
  }
}

// The pixels of a tile. Pairs of channels lie in the image as they are.
template <class E, class T>
Patch<E> load_elements(const T* x, const Window& win, const Tile& tile, int64_t channels,
                       std::byte* slot) {
  if constexpr (kTermsPerElement<E> == 2) {
    const Patch<T> patch =
        load_patch<T>(x, win, tile, {.channels = channels}, reinterpret_cast<T*>(slot));
    return {reinterpret_cast<const E*>(patch.data), patch.row / 2, patch.col / 2};
  } else {
    return load_patch<E>(x, win, tile, {.channels = channels}, reinterpret_cast<E*>(slot));
  }
}

template <class E, class T>
void dense_typed(const DenseConv& conv, const T* x, const T* w, const T* bias, T* y,
                 std::span<std::byte> workspace) {
  const Panels<E> panels(conv);
  const Window& win = conv.win;
  const int64_t channels_in = conv.groups * conv.inputs, channels_out = conv.groups * conv.outputs;
  const int64_t inputs = conv.inputs / kTermsPerElement<E>;
  const Tiles tiles(win, conv.images, channels_in);
  E* packed = reinterpret_cast<E*>(workspace.data());
  for (int64_t first = 0; first < panels.total; first += panels.batch) {
    const int64_t last = std::min(panels.total, first + panels.batch);
    parallel_for(last - first, grain_for(panels.elements), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        fill_panel(conv, panels, first + p, w, bias, packed + p * panels.elements);
    });
    for_each_with_slot(
        tiles.count(), workspace.subspan(static_cast<size_t>(panels.bytes())),
        tiles.patch() / kTermsPerElement<E> * int64_t{sizeof(E)},
        [&](int64_t number, std::byte* slot) {
          const Tile tile = tiles[number];
          const Patch<E> patch = load_elements<E>(x, win, tile, channels_in, slot);
          T* result = y + ((tile.image * win.h.total + win.h.start + tile.row * win.h.stride) *
                               win.w.total +
                           win.w.start + tile.col * win.w.stride) *
                              channels_out;
          // Neighbouring columns of taps are neighbours in memory when all channels belong to them.
          const bool merged = conv.groups == 1 && win.w.pitch == 1;
          const Taps taps{.rows = win.h.taps,
                          .cols = merged ? 1 : win.w.taps,
                          .run = merged ? win.w.taps * inputs : inputs,
                          .row_step = win.h.pitch * patch.row,
                          .col_step = win.w.pitch * patch.col};
          for (int64_t p = first; p < last; ++p) {
            const int64_t group = p / panels.per_group,
                          column = p % panels.per_group * kBlockColumns<E>;
            const Patch<E> own{patch.data + group * inputs, patch.row, patch.col};
            const Walk<T, E> walk{own, win, result + group * conv.outputs + column, channels_out,
                                  tile.cols};
            const int64_t width = panels.width(conv, p);
            const E* panel = packed + (p - first) * panels.elements;
            if (vectors<E>(width) == 2)
              tile_with_panel<T, E, 2>(walk, tile.rows * tile.cols, taps, width, panel, bias);
            else
              tile_with_panel<T, E, 1>(walk, tile.rows * tile.cols, taps, width, panel, bias);
          }
        });
  }
}

template <class E>
int64_t workspace_of(const DenseConv& conv) {
  const Tiles tiles(conv.win, conv.images, conv.groups * conv.inputs);
  return Panels<E>(conv).bytes() +
         slots_bytes(tiles.count(), tiles.patch() / kTermsPerElement<E> * int64_t{sizeof(E)});
}

bool can_be_pairs(const DenseConv& conv, DType dtype) {
  return dtype == DType::bf16 && conv.inputs % 2 == 0 && !winograd::beats_pairs(conv);
}

}  // namespace

DenseConv dense_forward(const ConvSizes& s) {
  const int64_t in = s.group_inputs(), out = s.group_outputs(), filter = s.taps() * in;
  return {.win = forward_window(s),
          .images = s.n,
          .is_product = s.is_product(),
          .groups = s.groups,
          .inputs = in,
          .outputs = out,
          .w = {.first = 0,
                .group = out * filter,
                .output = filter,
                .row = s.kw * in,
                .col = in,
                .input = 1}};
}

DenseConv dense_input_grad(const ConvSizes& s, Pair remainder) {
  const int64_t in = s.group_inputs(), out = s.group_outputs(), filter = s.taps() * in;
  const Window win = input_grad_window(s, remainder);
  return {.win = win,
          .images = s.n,
          .is_product = s.is_product(),
          .groups = s.groups,
          .inputs = out,
          .outputs = in,
          .w = {.first = (win.h.first_tap * s.kw + win.w.first_tap) * in,
                .group = out * filter,
                .output = 1,
                .row = win.h.tap_step * s.kw * in,
                .col = win.w.tap_step * in,
                .input = filter}};
}

int64_t dense_workspace(const DenseConv& conv, DType dtype) {
  if (conv.is_product) return gemm_16_bit_bytes(dtype, conv.pixels(), conv.outputs, conv.inputs);
  const int64_t widened = winograd::suits(conv, dtype)
                              ? winograd::workspace(conv)
                              : visit_floating("conv2d", dtype, [&]<class T>() {
                                  return workspace_of<Compute<T>>(conv);
                                });
  // As much whichever way the processor multiplies: a plan does not depend on it.
  return can_be_pairs(conv, dtype) ? std::max(widened, workspace_of<BFloat16Pair>(conv)) : widened;
}

void dense_cpu(const DenseConv& conv, const View& x, const View& w, const View& bias, const View& y,
               std::span<std::byte> workspace) {
  const auto run = [&]<class T, class E>() {
    dense_typed<E>(conv, x.as<T>(), w.as<T>(), bias.as<T>(), y.as<T>(), workspace);
  };
  if (conv.is_product)
    return visit_floating("conv2d", y.dtype(), [&]<class T>() {
      multiply<T>(conv.pixels(), conv.outputs, conv.inputs, {x.as<T>(), conv.inputs, 1},
                  {w.as<T>(), conv.w.input, conv.w.output}, bias.as<T>(), y.as<T>(),
                  workspace.data());
    });
  if (implicit_gemm::suits(conv, y.dtype())) return implicit_gemm::convolve(conv, x, w, bias, y);
  if (can_be_pairs(conv, y.dtype()) && bfloat16_products() == BFloat16Products::dot)
    return run.template operator()<BFloat16, BFloat16Pair>();
  if (winograd::suits(conv, y.dtype())) return winograd::convolve(conv, x, w, bias, y, workspace);
  visit_floating("conv2d", y.dtype(), [&]<class T>() { run.template operator()<T, Compute<T>>(); });
}

}  // namespace plimsoll
