#include "core/cpu/gemm/gemm.h"

#include <limits>

#include "core/cpu/gemm/gemm_near.h"
#include "core/cpu/gemm/round.h"

namespace plimsoll {
namespace {

using namespace packed;

// The loops of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008, on
// each thread alone:
//
//   for shares of C, one for each thread    nobody waits for what another packs
//     for tiles of a share                  its sums lie in the second-level cache
//       for up to kDepth terms              a round
//         for up to kTall strips of A       so do they
//           for panels of B                 a panel lies in the first level
//             for strips of kStripRows      kStripRows x kBlockColumns sums lie in registers
//
// An element of C is the sum over k in the order of k, in rounds of kDepth terms, wherever the
// blocks are cut: its bits depend on the operands alone.
constexpr int64_t kSmall = 1 << 20;  // multiply-adds of a product that is not worth packing
constexpr int64_t kLow = kMostBlocks * kTall / 2;  // strips, of one round: A is packed first
constexpr int64_t kSetsApart = 4096;  // bytes from an address to the next one in the same set
constexpr int64_t kTile = 1 << 18;    // elements of C that stay near a thread through all rounds
constexpr int64_t kTileRows = 96 * kStripRows;  // at most

// Columns that do not pay for packing rows of A; beside their panels is as much room again.
template <class T>
constexpr int64_t kNarrow = std::min<int64_t>(256, kWidePanels / 2 * kBlockColumns<T>);

// Operands are read where they lie, but for panels that are not rows of vectors.
template <class T>
void multiply_small(const Round<T>& r) {
  T* const packed = Scratch<T>::of_thread().panels;
  if (!r.lies_well(0) || !r.lies_well(r.panels - 1))
    parallel_for(r.panels, grain_for(r.columns * r.depth), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        if (!r.lies_well(p)) r.pack_panel_of_b(p, packed + p * r.panel_size);
    });
  const int64_t threads = num_threads(), wanted = threads == 1 ? 1 : 3 * threads;
  const Runs down(r.strips.count, std::min(r.strips.count, wanted));
  const Runs across(r.panels, std::min(r.panels, pieces(wanted, down.count)));
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    Ahead nothing;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across.count, run = piece % across.count;
      for (int64_t p = across.first(run); p < across.first(run + 1); ++p)
        r.multiply_panel(down, i, nullptr, p, r.panel(p, packed + p * r.panel_size), nothing);
    }
  });
}

// The same on this thread alone.
template <class T>
void multiply_near(const Round<T>& r, Ahead& ahead) {
  T* const packed = Scratch<T>::of_thread().panels;
  for (int64_t p = 0; p < r.panels; ++p) {
    if (!r.lies_well(p)) r.pack_panel_of_b(p, packed);
    r.multiply_panel({r.strips.count, 1}, 0, nullptr, p, r.panel(p, packed), ahead);
  }
}

// A few rows: all of A is packed first, a panel of B by the thread that reads it, into that one's
// first-level cache.
template <class T>
void multiply_low(const Round<T>& r) {
  const Runs blocks(r.strips.count, pieces(r.strips.count, kTall / 2));
  T* const left = Scratch<T>::of_thread().blocks;
  parallel_for(blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) r.pack_block_of_a(blocks, i, left + i * kBlock);
  });
  const int64_t threads = num_threads();
  const Runs down(blocks.count, std::min(blocks.count, pieces(3 * threads, r.panels)));
  parallel_for(down.count * r.panels, 1, [&](int64_t begin, int64_t end) {
    T* const right = Scratch<T>::of_thread().panels;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t d = piece / r.panels, p = piece % r.panels;
      T* to_pack = r.packs_on_the_way(p) ? right : nullptr;
      if (!to_pack) r.pack_panel_of_b(p, right);
      Ahead ahead;
      if (piece + 1 < down.count * r.panels) {  // a thread's pieces are neighbours
        const int64_t next = (piece + 1) % r.panels;
        ahead = {r.panel_of_b(next), r.depth, r.width(next),
                 r.fetches(r.strips.count / down.count)};
      }
      for (int64_t i = down.first(d); i < down.first(d + 1); ++i, to_pack = nullptr)
        r.multiply_panel(blocks, i, left + i * kBlock, p, {right, r.columns}, ahead, to_pack);
    }
  });
}

// C cut up, a piece for each thread: runs of rows and runs of panels.
struct Cut {
  Runs down, across;
};
template <class T>
Cut cut_for_threads(const Round<T>& r) {
  const int64_t threads = num_threads();
  Cut best{{r.m, 1}, {r.panels, 1}};
  double least = std::numeric_limits<double>::max();
  for (int64_t down = 1; down <= std::min(threads, r.strips.count); ++down) {
    const int64_t across = std::min(r.panels, threads / down);
    const auto strips = static_cast<double>(pieces(r.m, down)) / kStripRows;
    const auto panels = static_cast<double>(pieces(r.panels, across));
    // A strip or a panel is packed in about two fifths of the time of a product of the two.
    const double work = 5 * strips * panels + 2 * (strips + panels);
    if (work >= least) continue;
    least = work;
    best = {{r.m, down}, {r.panels, across}};
  }
  return best;
}

// A tile of C on this thread, through all rounds, with whatever is packed for it. Rows of A are not
// when few panels would make use of it, unless they share sets of the first-level cache. The panel
// of B or the block of A that is packed next comes nearer meanwhile; in the last round it is one of
// the tile beside this one, if any.
template <class T>
void multiply_tile(const Round<T>& tile, const Round<T>* beside = nullptr) {
  T* const right = Scratch<T>::of_thread().panels;
  T* const left = Scratch<T>::of_thread().blocks;
  const bool in_place = tile.row_major && tile.n <= kNarrow<T> &&
                        tile.a.row_stride * int64_t{sizeof(T)} % kSetsApart != 0;
  const auto round_at = [](const Round<T>& of, int64_t term) {
    term = std::min(term, of.depth);  // after the last one: a round without terms
    return of.part(0, of.m, 0, of.n, term, of.terms_from(term));
  };
  // Where all strips fit into one block nobody reads a panel later: all are packed to one place.
  const int64_t strips = tile.strips.count;
  const Runs blocks(strips, strips <= kMostBlocks * kTall ? 1 : pieces(strips, kTall));
  const int64_t panel_step = blocks.count == 1 ? 0 : tile.panel_size;
  for (int64_t term = 0; term < tile.depth; term += kDepth) {
    const Round<T> r = round_at(tile, term);
    const bool leaves = beside && term + kDepth >= tile.depth;
    const Round<T> next = leaves ? round_at(*beside, 0) : round_at(tile, term + kDepth);
    for (int64_t i = 0; i < blocks.count; ++i) {
      if (!in_place) r.pack_block_of_a(blocks, i, left);
      // B comes nearer panel by panel while the first block packs it, A block by block later on.
      const bool first = i == 0, last = i + 1 == blocks.count;
      const int64_t fetches = r.fetches(blocks.size(i));
      Ahead ahead;
      if (!first) {
        const Round<T>& then = last ? next : r;
        const int64_t b = last ? 0 : i + 1;
        ahead = {then.block_of_a(blocks, b), then.rows(blocks, b), then.depth, fetches * r.panels};
      }
      for (int64_t p = 0; p < r.panels; ++p) {
        T* const panel = right + p * panel_step;
        if (first && p + 1 < r.panels)
          ahead = {r.panel_of_b(p + 1), r.depth, r.width(p + 1), fetches};
        else if (first && last)
          ahead = {next.panel_of_b(0), next.depth, next.width(0), fetches};
        const bool on_the_way = first && r.packs_on_the_way(p);
        if (first && !on_the_way) r.pack_panel_of_b(p, panel);
        r.multiply_panel(blocks, i, in_place ? nullptr : left, p, {panel, r.columns}, ahead,
                         on_the_way ? panel : nullptr);
      }
    }
  }
}

// Each thread takes its piece of C, in tiles, and packs for it whatever that needs. To wait for
// each other after every round takes longer than to pack twice.
template <class T>
void multiply_tiles(const Round<T>& all) {
  const Cut cut = cut_for_threads(all);
  const Runs &down = cut.down, &across = cut.across;
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      const int64_t d = share / across.count, x = share % across.count;
      const Runs tall(down.size(d), pieces(down.size(d), kTileRows));
      const int64_t near = kTile / (tall.size(0) * all.columns);
      const int64_t most = std::clamp<int64_t>(near, 1, kWidePanels);
      const Runs wide(across.size(x), pieces(across.size(x), most));
      const auto tile = [&](int64_t i) {
        const int64_t t = i / wide.count, w = i % wide.count;
        const int64_t column = (across.first(x) + wide.first(w)) * all.columns;
        const int64_t width = std::min(wide.size(w) * all.columns, all.n - column);
        return all.part(down.first(d) + tall.first(t), tall.size(t), column, width, 0, all.depth);
      };
      const int64_t last = tall.count * wide.count - 1;
      for (int64_t i = 0; i < last; ++i) {
        const Round<T> beside = tile(i + 1);
        multiply_tile(tile(i), &beside);
      }
      multiply_tile(tile(last));
    }
  });
}

// Few rows and a B that is stored as its transpose: C^T = B^T A^T, in tiles that lie where there is
// room for panels. So of B, which is by far the largest, rows are read; to turn A and C around
// takes less time. A product of two numbers is the same either way, and so are the bits.
template <class T>
bool is_turned(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& b) {
  return b.col_stride != 1 && m >= kLanes<T> && m <= kNarrow<T> && 4 * m <= std::min(n, k);
}
template <class T>
void multiply_turned(const Round<T>& all) {
  const auto turned = [](const MatrixRef<T>& x) {
    return MatrixRef<T>{x.data, x.col_stride, x.row_stride};
  };
  const int64_t stride = pieces(all.m, all.columns) * all.columns;  // of a tile
  const int64_t room = (Scratch<T>::kPanels - stride * kDepth) / stride;
  const int64_t threads = num_threads();
  const Runs tiles(
      all.n, std::min(pieces(all.n, kStripRows), pieces(pieces(all.n, room), threads) * threads));
  parallel_for(tiles.count, 1, [&](int64_t begin, int64_t end) {
    T* const c = Scratch<T>::of_thread().panels + stride * kDepth;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = tiles.first(i), width = tiles.size(i);
      const Round<T> tile{.a = turned(all.part(0, all.m, column, width, 0, all.depth).b),
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
Round<T> whole(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c,
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
void gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_stride,
          Store store) {
  if (m == 0 || n == 0) return;
  if (k == 0 && store == Store::overwrite)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T(0));
  const Round<T> all = whole(m, n, k, a, b, c, c_stride, store);
  if (is_turned(m, n, k, b)) return multiply_turned(all);
  constexpr int64_t wide = kWidePanels * kBlockColumns<T>;
  if (m * std::min(n, wide) * std::min(k, kDepth) > kSmall &&
      (k > kDepth || all.strips.count > kLow))
    return multiply_tiles(all);
  for (int64_t j = 0; j < n; j += wide)
    for (int64_t t = 0; t < k; t += kDepth) {
      const Round<T> round = all.part(0, m, j, std::min(wide, n - j), t, all.terms_from(t));
      if (round.m * round.n * round.depth <= kSmall)
        multiply_small(round);
      else
        multiply_low(round);
    }
}

template <class T>
void gemm_near(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c,
               int64_t c_stride, Store store, Ahead ahead) {
  if (m == 0 || n == 0) return;
  const Round<T> all = whole(m, n, k, a, b, c, c_stride, store);
  ahead.complete_after(all.fetches(all.strips.count * all.panels));
  int64_t t = 0;
  do {  // without terms, too, C is written
    multiply_near(all.part(0, m, 0, n, t, all.terms_from(t)), ahead);
    t += kDepth;
  } while (t < k);
}

template void gemm<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>, float*,
                          int64_t, Store);
template void gemm<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>, double*,
                           int64_t, Store);
template void gemm_near<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>,
                               float*, int64_t, Store, Ahead);
template void gemm_near<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>,
                                double*, int64_t, Store, Ahead);

}  // namespace plimsoll
