// dw[o, tap] = sum over all windows of x[window + tap] * dy[window, o]. A unit of work is one piece
// of the batch and some panels of outputs; the pieces' sums are then added in order. Both cuts
// depend on the sizes alone.
#include "core/cpu/gemm/gemm16.h"
#include "core/cpu/slots.h"
#include "ops/conv/conv2d/block.h"
#include "ops/conv/conv2d/dense.h"
#include "ops/conv/conv2d/implicit_gemm.h"
#include "ops/conv/conv2d/patch.h"
#include "ops/conv/conv2d/winograd.h"

namespace plimsoll {
namespace {

using namespace block;

constexpr int64_t kUnits = 16;  // enough to keep the threads of a workstation busy
// Elements that a tile reads, four times as many as forward: each tile reads and writes all sums.
constexpr int64_t kPatch = 65536;
// What the pieces' sums may take together; a single piece takes an f32 copy of dw all the same.
constexpr int64_t kPartialBytes = 2 << 20;

// Pieces share the reading of x and dy, so there are as many as the room for their sums allows; the
// panels are shared out only where that leaves too few units.
template <class C>
struct Units {
  Tiles tiles;
  int64_t depth, per_group, panels, elements, batch_pieces, panel_parts;
  explicit Units(const ConvSizes& s)
      : tiles(forward_window(s), s.n, s.c, kPatch),
        depth(s.taps() * s.group_inputs()),
        per_group(pieces(s.group_outputs(), kBlockColumns<C>)),
        panels(s.groups * per_group),
        elements(depth * kBlockColumns<C>) {
    const int64_t all = std::max<int64_t>(panels * elements * int64_t{sizeof(C)}, 1);
    batch_pieces = std::max<int64_t>(std::min({kUnits, kPartialBytes / all, tiles.count()}), 1);
    panel_parts = std::min(pieces(kUnits, batch_pieces), panels);
  }
  int64_t count() const { return panel_parts * batch_pieces; }
  int64_t partial_bytes() const {
    return block_bytes(panels * batch_pieces * elements * int64_t{sizeof(C)});
  }
  int64_t slot_bytes() const {  // the windows of a tile and their dy
    return (tiles.patch() + tiles.pixels() * kBlockColumns<C>)*int64_t{sizeof(C)};
  }
};

// E is what is multiplied: numbers in the type that T is computed in, or pairs of what neighbouring
// columns of windows have. Both are as large, and so is the scratch.

template <class E, class T>
Patch<E> load_x(const T* x, const ConvSizes& s, const Tile& tile, E* to) {
  if constexpr (kTermsPerElement<E> == 2)
    return load_pairs_of_pixels(x, forward_window(s), tile, s.c, to);
  else
    return load_patch<E>(x, forward_window(s), tile, {.channels = s.c}, to);
}

// The tile's dy for one panel of outputs: [rows, columns of windows, padded], zeros beyond the last
// output.
template <class E, class T>
void load_dy(const T* dy, const ConvSizes& s, const Tile& tile, int64_t first, int64_t width,
             int64_t padded, E* to) {
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.cols; j += kTermsPerElement<E>, to += padded) {
      const T* from = dy + ((tile.image * s.p + tile.row + i) * s.q + tile.col + j) * s.o + first;
      if constexpr (kTermsPerElement<E> == 2) {
        if (j + 1 < tile.cols)
          interleave(from, from + s.o, width, to);
        else
          for (int64_t o = 0; o < width; ++o) to[o] = {from[o], {}};
      } else {
#pragma omp simd
        for (int64_t o = 0; o < width; ++o) to[o] = static_cast<E>(from[o]);
      }
      std::fill(to + width, to + padded, E{});
    }
}

// Adds one tile to partial [depth, W vectors].
template <class E, int W>
void add_tile(const ConvSizes& s, const Patch<E>& patch, const Tile& tile, const E* dy,
              Accumulator<E>* partial) {
  constexpr int64_t padded = W * kLanes<E>;
  const int64_t cols = pieces(tile.cols, kTermsPerElement<E>);
  const Field field{.rows = tile.rows,
                    .cols = cols,
                    .x_row = s.stride.h * patch.row,
                    .x_col = kTermsPerElement<E> * s.stride.w * patch.col,
                    .dy_row = cols * padded,
                    .dy_col = padded};
  // Neighbouring taps are neighbours in memory.
  const bool merged = s.groups == 1 && s.dilation.w == 1;
  const int64_t run = merged ? s.kw * s.c : s.group_inputs();
  const int64_t runs = merged ? 1 : s.kw, blocks = pieces(run, kBlockRows);
  for (int64_t r = 0; r < s.kh; ++r)
    for (int64_t k = 0; k < runs; ++k, partial += run * padded)
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t begin = run * b / blocks, n = run * (b + 1) / blocks - begin;
        const E* x =
            patch.data + r * s.dilation.h * patch.row + k * s.dilation.w * patch.col + begin;
        with_count<kBlockRows>(
            n, [&]<int R>() { outer<E, W, R>(x, dy, field, partial + begin * padded, padded); });
      }
}

// One unit: its tiles, each with its panels.
template <class E, class T>
void run_unit(const ConvSizes& s, const Units<Compute<T>>& units, int64_t unit, const T* x,
              const T* dy, Compute<T>* partials, std::byte* slot) {
  using C = Compute<T>;
  const int64_t piece = unit % units.batch_pieces, part = unit / units.batch_pieces;
  const int64_t first = units.panels * part / units.panel_parts;
  const int64_t last = units.panels * (part + 1) / units.panel_parts;
  const auto partial = [&](int64_t panel) {
    return partials + (panel * units.batch_pieces + piece) * units.elements;
  };
  for (int64_t p = first; p < last; ++p) std::fill_n(partial(p), units.elements, C(0));
  const int64_t tiles = units.tiles.count();
  E *const x_tile = reinterpret_cast<E*>(slot), *const dy_tile = x_tile + units.tiles.patch();
  const auto add = [&](const Tile& tile) {
    const Patch<E> patch = load_x(x, s, tile, x_tile);
    for (int64_t p = first; p < last; ++p) {
      const int64_t group = p / units.per_group, column = p % units.per_group * kBlockColumns<C>;
      const int64_t width = std::min(kBlockColumns<C>, s.group_outputs() - column);
      const bool wide = width > kLanes<C>;
      const Patch<E> own{patch.data + group * s.group_inputs(), patch.row, patch.col};
      load_dy(dy, s, tile, group * s.group_outputs() + column, width, (wide ? 2 : 1) * kLanes<C>,
              dy_tile);
      if (wide)
        add_tile<E, 2>(s, own, tile, dy_tile, partial(p));
      else
        add_tile<E, 1>(s, own, tile, dy_tile, partial(p));
    }
  };
  for (int64_t t = tiles * piece / units.batch_pieces; t < tiles * (piece + 1) / units.batch_pieces;
       ++t) {
    Tile tile = units.tiles[t];
    if (kTermsPerElement<E> == 2 && tile.cols % 2 == 1 && tile.cols > 1) {
      --tile.cols;  // the last column is by itself: no pixel stands in for a partner's
      add(tile);
      tile.col += tile.cols;
      tile.cols = 1;
    }
    add(tile);
  }
}

template <class E, class T>
void weight_grad_typed(const ConvSizes& s, const T* x, const T* dy, T* dw,
                       std::span<std::byte> workspace) {
  using C = Compute<T>;
  const Units<C> units(s);
  C* partials = reinterpret_cast<C*>(workspace.data());
  for_each_with_slot(
      units.count(), workspace.subspan(size_t(units.partial_bytes())), units.slot_bytes(),
      [&](int64_t unit, std::byte* slot) { run_unit<E>(s, units, unit, x, dy, partials, slot); });
  parallel_for(s.o, grain_for(units.depth * units.batch_pieces), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const int64_t group = o / s.group_outputs(), own = o % s.group_outputs();
      const int64_t column = own / kBlockColumns<C> * kBlockColumns<C>;
      const int64_t panel = group * units.per_group + own / kBlockColumns<C>;
      const bool wide = s.group_outputs() - column > kLanes<C>;
      const int64_t padded = (wide ? 2 : 1) * kLanes<C>;
      const C* from = partials + panel * units.batch_pieces * units.elements + own - column;
      for (int64_t k = 0; k < units.depth; ++k) {
        C total = 0;
        for (int64_t piece = 0; piece < units.batch_pieces; ++piece)
          total += from[piece * units.elements + k * padded];
        dw[o * units.depth + k] = static_cast<T>(total);
      }
    }
  });
}

// A product's units are blocks of dw, of 14 x 32 at most: where they are fewer than kUnits, pieces
// of the batch share the work better.
bool suits_product(const ConvSizes& s) { return s.is_product() && s.o * s.c >= kUnits * 14 * 32; }

}  // namespace

// As much whichever way the processor multiplies: a plan does not depend on it.
int64_t dense_weight_grad_workspace(const ConvSizes& s, DType dtype) {
  if (suits_product(s)) return gemm_16_bit_bytes(dtype, s.o, s.c, s.n * s.h * s.w);
  const int64_t direct = visit_floating("conv2d_weight_grad", dtype, [&]<class T>() {
    const Units<Compute<T>> units(s);
    return units.partial_bytes() + slots_bytes(units.count(), units.slot_bytes());
  });
  if (!winograd::suits_weight_grad(s, dtype)) return direct;
  const int64_t transformed = winograd::weight_grad_workspace(s);
  // bf16 may be summed directly all the same, by AMX or dot products.
  return dtype == DType::bf16 ? std::max(direct, transformed) : transformed;
}

void dense_weight_grad_cpu(const ConvSizes& s, const View& x, const View& dy, const View& dw,
                           std::span<std::byte> workspace) {
  const auto run = [&]<class T, class E>() {
    weight_grad_typed<E>(s, x.as<T>(), dy.as<T>(), dw.as<T>(), workspace);
  };
  if (suits_product(s))
    return visit_floating("conv2d_weight_grad", dw.dtype(), [&]<class T>() {
      multiply<T>(s.o, s.c, s.n * s.h * s.w, {dy.as<T>(), 1, s.o}, {x.as<T>(), s.c, 1}, nullptr,
                  dw.as<T>(), workspace.data());
    });
  if (implicit_gemm::suits(dense_forward(s), dw.dtype()))
    return implicit_gemm::weight_grad(s, x, dy, dw, Units<float>(s).batch_pieces, workspace);
  if (dw.dtype() == DType::bf16 && bfloat16_products() == BFloat16Products::dot &&
      !winograd::beats_pairs(dense_forward(s)))
    return run.template operator()<BFloat16, BFloat16Pair>();
  if (winograd::suits_weight_grad(s, dw.dtype()))
    return winograd::weight_grad(s, x, dy, dw, workspace);
  visit_floating("conv2d_weight_grad", dw.dtype(),
                 [&]<class T>() { run.template operator()<T, Compute<T>>(); });
}

}  // namespace plimsoll
