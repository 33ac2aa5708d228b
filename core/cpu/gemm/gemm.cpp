#include "core/cpu/gemm/gemm.h"

#include <limits>

#include "core/cpu/gemm/gemv.h"
#include "core/cpu/gemm/kc_block.h"

namespace plimsoll {
namespace {

using namespace packed;

// The loops of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008, on
// each thread alone:
//
//   for tiles of C                        its sums lie in the second-level cache
//     for KC terms                        a KC block
//       for MC rows of A                  so do they
//         for micro-panels of B           one lies in the first-level cache
//           for micro-panels of A         MR x NR sums lie in registers: the micro-kernel
//
// An element of C is the sum over k in the order of k, in KC blocks, wherever C is cut: its bits
// depend on the operands alone.
constexpr int64_t kSmall = 1 << 20;         // multiply-adds of a product that is not worth packing
constexpr int64_t kLeastOfPiece = 1 << 16;  // and of a piece that is worth waking a thread
constexpr int64_t kFewPanels =
    kMostMcBlocks * kMcPanels / 2;       // micro-panels of A, of one KC block: A is packed first
constexpr int64_t kSetsApart = 4096;     // bytes from an address to the next one in the same set
constexpr int64_t kTile = 1 << 18;       // elements of C in a thread's cache through all KC blocks
constexpr int64_t kTileRows = 96 * kMR;  // at most
constexpr int64_t kTilesOfThread = 4;    // wanted, where each has so many elements of C:
constexpr int64_t kLeastOfTile = 1 << 16;  // with less, operands are read again for little

// So many columns do not pay for packing rows of A. Beside their micro-panels is as much room
// again.
template <class T>
constexpr int64_t kNarrow = std::min<int64_t>(256, kNcPanels / 2 * kNR<T>);

// Reads operands where they lie, but packs micro-panels of B that are not rows of vectors.
template <class T>
void multiply_small(const KcBlock<T>& r) {
  T* const packed = PackBuffers<T>::of_thread().b_panels;
  if (!r.reads_in_place(0) || !r.reads_in_place(r.b_panels - 1))
    parallel_for(r.b_panels, grain_for(r.columns * r.depth), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        if (!r.reads_in_place(p)) r.pack_panel_of_b(p, packed + p * r.panel_size);
    });
  const int64_t threads = num_threads(), worth = r.m * r.n * r.depth / kLeastOfPiece;
  const int64_t wanted = threads == 1 ? 1 : std::clamp<int64_t>(worth, 1, 3 * threads);
  const Runs down(r.a_panels.count, std::min(r.a_panels.count, wanted));
  const Runs across(r.b_panels, std::min(r.b_panels, pieces(wanted, down.count)));
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    Prefetcher nothing;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across.count, run = piece % across.count;
      for (int64_t p = across.first(run); p < across.first(run + 1); ++p)
        r.multiply_panel(down, i, nullptr, p, r.panel(p, packed + p * r.panel_size), nothing);
    }
  });
}

// Does the same on this thread alone.
template <class T>
void multiply_unpacked(const KcBlock<T>& r, Prefetcher& ahead) {
  T* const packed = PackBuffers<T>::of_thread().b_panels;
  for (int64_t p = 0; p < r.b_panels; ++p) {
    if (!r.reads_in_place(p)) r.pack_panel_of_b(p, packed);
    r.multiply_panel({r.a_panels.count, 1}, 0, nullptr, p, r.panel(p, packed), ahead);
  }
}

// Multiplies few rows: all of A is packed first, a micro-panel of B by the thread that reads it,
// into that one's first-level cache.
template <class T>
void multiply_few_rows(const KcBlock<T>& r) {
  const Runs blocks(r.a_panels.count, pieces(r.a_panels.count, kMcPanels / 2));
  T* const left = PackBuffers<T>::of_thread().a_blocks;
  parallel_for(blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) r.pack_block_of_a(blocks, i, left + i * kMcBlock);
  });
  const int64_t threads = num_threads();
  const Runs down(blocks.count, std::min(blocks.count, pieces(3 * threads, r.b_panels)));
  parallel_for(down.count * r.b_panels, 1, [&](int64_t begin, int64_t end) {
    T* const right = PackBuffers<T>::of_thread().b_panels;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t d = piece / r.b_panels, p = piece % r.b_panels;
      T* to_pack = r.packs_while_multiplying(p) ? right : nullptr;
      if (!to_pack) r.pack_panel_of_b(p, right);
      Prefetcher ahead;
      if (piece + 1 < down.count * r.b_panels) {  // a thread's pieces are neighbours
        const int64_t next = (piece + 1) % r.b_panels;
        ahead = {r.panel_of_b(next), r.depth, r.width(next),
                 r.prefetches(r.a_panels.count / down.count)};
      }
      for (int64_t i = down.first(d); i < down.first(d + 1); ++i, to_pack = nullptr)
        r.multiply_panel(blocks, i, left + i * kMcBlock, p, {right, r.columns}, ahead, to_pack);
    }
  });
}

// C is cut into a grid of tiles: runs of rows and runs of micro-panels of B.
struct Grid {
  Runs down, across;
};
// Several for each thread, so that one whose core is slow or taken by others leaves some of its own
// to the rest, and of all such grids the one with the least to do for the busiest thread.
template <class T>
Grid grid_of_tiles(const KcBlock<T>& r) {
  const int64_t threads = num_threads();
  const int64_t worth = r.m * r.n / kLeastOfTile;
  const int64_t wanted = threads == 1 ? 1 : std::clamp(worth, threads, kTilesOfThread * threads);
  const int64_t fewest = pieces(r.m, kTileRows);
  Grid best{{r.m, 1}, {r.b_panels, 1}};
  double least = std::numeric_limits<double>::max();
  for (int64_t down = fewest; down <= std::min(r.a_panels.count, std::max(fewest, wanted));
       ++down) {
    const int64_t rows = pieces(r.m, down);
    const int64_t most = std::clamp<int64_t>(kTile / (rows * r.columns), 1, kNcPanels);
    const int64_t across =
        std::min(r.b_panels, std::max(pieces(r.b_panels, most), pieces(wanted, down)));
    const auto a_panels = static_cast<double>(rows) / kMR;
    const auto b_panels = static_cast<double>(pieces(r.b_panels, across));
    // A micro-panel is packed in about two fifths of the time of a product of two.
    const double work = static_cast<double>(pieces(down * across, threads)) *
                        (5 * a_panels * b_panels + 2 * (a_panels + b_panels));
    if (work >= least) continue;
    least = work;
    best = {{r.m, down}, {r.b_panels, across}};
  }
  return best;
}

// Computes a tile of C on this thread, through all KC blocks, and packs whatever is needed for it.
// Rows of A are not packed when few micro-panels of B would make use of it, unless they share sets
// of the first-level cache. Meanwhile the micro-panel of B or the MC block of A that is packed next
// is prefetched; in the last KC block it is one of the tile beside this one, if any.
template <class T>
void multiply_tile(const KcBlock<T>& tile, const KcBlock<T>* beside = nullptr) {
  T* const right = PackBuffers<T>::of_thread().b_panels;
  T* const left = PackBuffers<T>::of_thread().a_blocks;
  const bool in_place = tile.row_major && tile.n <= kNarrow<T> &&
                        tile.a.row_stride * int64_t{sizeof(T)} % kSetsApart != 0;
  const auto kc_block_at = [](const KcBlock<T>& of, int64_t term) {
    term = std::min(term, of.depth);  // after the last one: a block without terms
    return of.part(0, of.m, 0, of.n, term, of.terms_from(term));
  };
  // Where all rows are one MC block nobody reads a micro-panel of B later: all are packed to one
  // place.
  const int64_t a_panels = tile.a_panels.count;
  const Runs blocks(a_panels,
                    a_panels <= kMostMcBlocks * kMcPanels ? 1 : pieces(a_panels, kMcPanels));
  const int64_t panel_step = blocks.count == 1 ? 0 : tile.panel_size;
  for (int64_t term = 0; term < tile.depth; term += kKC) {
    const KcBlock<T> r = kc_block_at(tile, term);
    const bool is_last = beside && term + kKC >= tile.depth;
    const KcBlock<T> next = is_last ? kc_block_at(*beside, 0) : kc_block_at(tile, term + kKC);
    for (int64_t i = 0; i < blocks.count; ++i) {
      if (!in_place) r.pack_block_of_a(blocks, i, left);
      // B is prefetched by micro-panels while the first MC block packs it, A by MC blocks later on.
      const bool first = i == 0, last = i + 1 == blocks.count;
      const int64_t prefetches = r.prefetches(blocks.size(i));
      Prefetcher ahead;
      if (!first) {
        const KcBlock<T>& then = last ? next : r;
        const int64_t b = last ? 0 : i + 1;
        ahead = {then.block_of_a(blocks, b), then.rows(blocks, b), then.depth,
                 prefetches * r.b_panels};
      }
      for (int64_t p = 0; p < r.b_panels; ++p) {
        T* const panel = right + p * panel_step;
        if (first && p + 1 < r.b_panels)
          ahead = {r.panel_of_b(p + 1), r.depth, r.width(p + 1), prefetches};
        else if (first && last)
          ahead = {next.panel_of_b(0), next.depth, next.width(0), prefetches};
        const bool on_the_way = first && r.packs_while_multiplying(p);
        if (first && !on_the_way) r.pack_panel_of_b(p, panel);
        r.multiply_panel(blocks, i, in_place ? nullptr : left, p, {panel, r.columns}, ahead,
                         on_the_way ? panel : nullptr);
      }
    }
  }
}

// Whatever a tile needs is packed for it: to wait for each other after every KC block takes longer
// than to pack twice.
template <class T>
void multiply_tiles(const KcBlock<T>& all) {
  const Grid grid = grid_of_tiles(all);
  const Runs &down = grid.down, &across = grid.across;
  const auto tile = [&](int64_t i) {
    const int64_t d = i / across.count, x = i % across.count;
    const int64_t column = across.first(x) * all.columns;
    const int64_t width = std::min(across.size(x) * all.columns, all.n - column);
    return all.part(down.first(d), down.size(d), column, width, 0, all.depth);
  };
  const int64_t tiles = down.count * across.count;
  parallel_for(tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i + 1 == tiles) return multiply_tile(tile(i));
      const KcBlock<T> beside = tile(i + 1);
      multiply_tile(tile(i), &beside);
    }
  });
}

// Few rows and a B that is stored as its transpose are multiplied as C^T = B^T A^T, in tiles that
// lie where there is room for micro-panels. So of B, which is by far the largest, rows are read; to
// turn A and C around takes less time. A product of two numbers is the same either way, and so are
// the bits.
template <class T>
bool pays_transposed(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& b) {
  return b.col_stride != 1 && m >= kLanes<T> && m <= kNarrow<T> && 4 * m <= std::min(n, k);
}
template <class T>
void multiply_transposed(const KcBlock<T>& all) {
  const auto turned = [](const MatrixRef<T>& x) {
    return MatrixRef<T>{x.data, x.col_stride, x.row_stride};
  };
  const int64_t stride = pieces(all.m, all.columns) * all.columns;  // of a tile
  const int64_t room = (PackBuffers<T>::kPanels - stride * kKC) / stride;
  const int64_t threads = num_threads();
  const Runs tiles(all.n,
                   std::min(pieces(all.n, kMR), pieces(pieces(all.n, room), threads) * threads));
  parallel_for(tiles.count, 1, [&](int64_t begin, int64_t end) {
    Accumulator<T>* const c =
        reinterpret_cast<Accumulator<T>*>(PackBuffers<T>::of_thread().b_panels + stride * kKC);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = tiles.first(i), width = tiles.size(i);
      const KcBlock<T> tile{.a = turned(all.part(0, all.m, column, width, 0, all.depth).b),
                            .b = turned(all.a),
                            .m = width,
                            .n = all.m,
                            .depth = all.depth,
                            .c = c,
                            .c_stride = stride,
                            .add = all.add};
      if (all.add) transpose(all.c + column, all.c_stride, all.m, width, c, stride);
      multiply_tile(tile);
      transpose(c, stride, width, all.m, all.c + column, all.c_stride);
    }
  });
}

// All of a product, however many terms.
template <class T>
KcBlock<T> whole(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, Accumulator<T>* c,
                 int64_t c_stride, Store store) {
  return {.a = a,
          .b = b,
          .m = m,
          .n = n,
          .depth = k,
          .c = c,
          .c_stride = c_stride,
          .add = store == Store::accumulate};
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, Accumulator<T>* c,
          int64_t c_stride, Store store) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<Accumulator<T>, T>)
    if (m == 1 && a.col_stride == 1 && b.row_stride == 1)  // each element of B is used once
      return gemv(n, k, a.data, b.data, b.col_stride, store == Store::accumulate ? c : nullptr, c);
  if (k == 0 && store == Store::overwrite)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, Accumulator<T>(0));
  const KcBlock<T> all = whole(m, n, k, a, b, c, c_stride, store);
  if (pays_transposed(m, n, k, b)) return multiply_transposed(all);
  constexpr int64_t wide = kNcPanels * kNR<T>;
  if (m * std::min(n, wide) * std::min(k, kKC) > kSmall &&
      (k > kKC || all.a_panels.count > kFewPanels))
    return multiply_tiles(all);
  for (int64_t j = 0; j < n; j += wide)
    for (int64_t t = 0; t < k; t += kKC) {
      const KcBlock<T> block = all.part(0, m, j, std::min(wide, n - j), t, all.terms_from(t));
      if (block.m * block.n * block.depth <= kSmall)
        multiply_small(block);
      else
        multiply_few_rows(block);
    }
}

template <class T>
void gemm_unpacked(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b,
                   Accumulator<T>* c, int64_t c_stride, Store store, Prefetcher ahead) {
  if (m == 0 || n == 0) return;
  const KcBlock<T> all = whole(m, n, k, a, b, c, c_stride, store);
  ahead.complete_after(all.prefetches(all.a_panels.count * all.b_panels));
  int64_t t = 0;
  do {  // without terms, too, C is written
    multiply_unpacked(all.part(0, m, 0, n, t, all.terms_from(t)), ahead);
    t += kKC;
  } while (t < k);
}

template void gemm<BFloat16Pair>(int64_t, int64_t, int64_t, MatrixRef<BFloat16Pair>,
                                 MatrixRef<BFloat16Pair>, float*, int64_t, Store);
template void gemm<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>, float*,
                          int64_t, Store);
template void gemm<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>, double*,
                           int64_t, Store);
template void gemm_unpacked<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>,
                                   float*, int64_t, Store, Prefetcher);
template void gemm_unpacked<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>,
                                    double*, int64_t, Store, Prefetcher);

}  // namespace plimsoll
