// dw[o, tap] = sum over all windows of x[window + tap, o / m] * dy[window, o]: pieces of the batch
// leave their sums as [taps, O], which are then added in order. The cut depends on the sizes alone.
#include "core/cpu/slots.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/depthwise.h"
#include "ops/conv/conv2d/patch.h"

namespace plimsoll {
namespace {

using namespace block;

constexpr int64_t kPieces = 16;
constexpr int kTaps = kBlockRows / 2;  // neighbours in a row, at a time

template <class C>
struct PartialGradients {
  Tiles tiles;
  int64_t count, elements, dy_elements;
  explicit PartialGradients(const ConvSizes& s)
      : tiles(forward_window(s), s.n, s.o),
        count(std::clamp<int64_t>(tiles.count(), 1, kPieces)),
        elements(s.taps() * s.o),
        dy_elements(tiles.pixels() * s.o) {}
  int64_t partial_bytes() const { return block_bytes(count * elements * int64_t{sizeof(C)}); }
  int64_t slot_bytes() const { return (tiles.patch() + dy_elements) * int64_t{sizeof(C)}; }
};

// The tile's dy: where it is, or converted to f32 in scratch.
template <class T>
Patch<Compute<T>> load_dy(const T* dy, const ConvSizes& s, const Tile& tile, Compute<T>* scratch) {
  const T* from = dy + ((tile.image * s.p + tile.row) * s.q + tile.col) * s.o;
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return {from, s.q * s.o, s.o};
  } else {
    for (int64_t i = 0; i < tile.rows; ++i)
      load_pixels(from + i * s.q * s.o, tile.cols, {.channels = s.o},
                  scratch + i * tile.cols * s.o);
    return {scratch, tile.cols * s.o, s.o};
  }
}

// Adds one tile to partial [taps, O], in blocks of W vectors of channels as long as whole blocks
// fit. Returns the first channel that is left.
template <class V, int W, class C>
int64_t add_tile(const ConvSizes& s, const Tile& tile, const Patch<C>& x, const Patch<C>& dy,
                 int64_t first, C* partial) {
  constexpr int64_t width = W * kLanesOf<V>;
  const Field field{.rows = tile.rows,
                    .cols = tile.cols,
                    .x_row = s.stride.h * x.row,
                    .x_col = s.stride.w * x.col,
                    .dy_row = dy.row,
                    .dy_col = dy.col};
  const int64_t blocks = pieces(s.kw, kTaps);
  for (; first + width <= s.o; first += width)
    for (int64_t r = 0; r < s.kh; ++r)
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t begin = s.kw * b / blocks, n = s.kw * (b + 1) / blocks - begin;
        const C* from = x.data + r * s.dilation.h * x.row + begin * s.dilation.w * x.col + first;
        C* to = partial + (r * s.kw + begin) * s.o + first;
        with_count<kTaps>(n, [&]<int R>() {
          outer_channels<V, W, C, R>(from, s.dilation.w * x.col, dy.data + first, field, to, s.o);
        });
      }
  return first;
}

template <class T>
void weight_grad_typed(const ConvSizes& s, const T* x, const T* dy, T* dw,
                       std::span<std::byte> workspace) {
  using C = Compute<T>;
  const PartialGradients<C> cut(s);
  const Window win = forward_window(s);
  C* partials = reinterpret_cast<C*>(workspace.data());
  for_each_with_slot(
      cut.count, workspace.subspan(size_t(cut.partial_bytes())), cut.slot_bytes(),
      [&](int64_t piece, std::byte* slot) {
        C* scratch = reinterpret_cast<C*>(slot);
        C* partial = partials + piece * cut.elements;
        std::fill_n(partial, cut.elements, C(0));
        const int64_t tiles = cut.tiles.count();
        for (int64_t t = tiles * piece / cut.count; t < tiles * (piece + 1) / cut.count; ++t) {
          const Tile tile = cut.tiles[t];
          const Patch<C> patch =
              load_patch<C>(x, win, tile, {ChannelLayout::repeat, s.o, s.o / s.c}, scratch);
          const Patch<C> g = load_dy(dy, s, tile, scratch + cut.tiles.patch());
          int64_t c = add_tile<Vector<C>, 2>(s, tile, patch, g, 0, partial);
          c = add_tile<Vector<C>, 1>(s, tile, patch, g, c, partial);
          add_tile<C, 1>(s, tile, patch, g, c, partial);
        }
      });
  for (int64_t o = 0; o < s.o; ++o)
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      C total = 0;
      for (int64_t piece = 0; piece < cut.count; ++piece)
        total += partials[piece * cut.elements + tap * s.o + o];
      dw[o * s.taps() + tap] = static_cast<T>(total);
    }
}

}  // namespace

int64_t depthwise_weight_grad_workspace(const ConvSizes& s, DType dtype) {
  return visit_floating("conv2d_weight_grad", dtype, [&]<class T>() {
    const PartialGradients<Compute<T>> cut(s);
    return cut.partial_bytes() + slots_bytes(cut.count, cut.slot_bytes());
  });
}

void depthwise_weight_grad_cpu(const ConvSizes& s, const View& x, const View& dy, const View& dw,
                               std::span<std::byte> workspace) {
  visit_floating("conv2d_weight_grad", dw.dtype(), [&]<class T>() {
    weight_grad_typed(s, x.as<T>(), dy.as<T>(), dw.as<T>(), workspace);
  });
}

}  // namespace plimsoll
