#include "core/cpu/gemm.h"

#include <limits>

#include "core/cpu/gemm_near.h"
#include "core/cpu/packed.h"
#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

using namespace packed;

// The loops of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008:
//
//   for up to kWidePanels panels of columns  the operands of a round lie in the second-level cache
//     for up to kDepth terms                 or, of many threads, in the last-level one
//       for up to kHigh rows
//         for blocks of C, in parallel       kTall strips of A lie in the second level
//           for kGroup panels                so do they
//             for strips of kBlockRows       a strip lies in the first level
//               for panels of kBlockColumns  kBlockRows x kBlockColumns sums lie in registers
//
// An element of C is the sum over k in the order of k, in rounds of kDepth terms, wherever the
// blocks are cut: its bits depend on the operands alone.
constexpr int64_t kGroup = 8, kHigh = 96 * kBlockRows;
constexpr int64_t kSmall = 1 << 20;  // multiply-adds of a product that is not worth packing
constexpr int64_t kLow = kMostBlocks * kTall / 2;  // strips of a product whose A is packed first
constexpr int64_t kTile = 1 << 18;  // elements of C that stay near a thread through all rounds

// n things in `count` runs that differ by one at most.
struct Runs {
  int64_t count, length, longer;
  Runs(int64_t n, int64_t runs) : count(runs), length(n / runs), longer(n % runs) {}
  int64_t first(int64_t run) const { return run * length + std::min(run, longer); }
  int64_t size(int64_t run) const { return length + (run < longer); }
};

// [m, depth] times [depth, n], into C or added to it.
template <class T>
struct Round {
  MatrixRef<T> a, b;
  int64_t m, n, depth;
  T* c;
  int64_t c_stride;
  bool add;
  int64_t next_depth = 0;  // of a round that follows with the next rows of a row-major B, or 0

  static constexpr int64_t columns = kBlockColumns<T>, panel_size = columns * kDepth;
  Runs strips{m, pieces(m, kBlockRows)};
  int64_t panels = pieces(n, columns);
  bool row_major = a.col_stride == 1;
  int64_t pitch = row_major ? kRowPitch : kTermPitch;

  // Some rows and columns of C, and some terms of each sum.
  Round part(int64_t row, int64_t rows, int64_t column, int64_t width, int64_t term,
             int64_t terms) const {
    return {.a = {a.data + row * a.row_stride + term * a.col_stride, a.row_stride, a.col_stride},
            .b = {b.data + term * b.row_stride + column * b.col_stride, b.row_stride, b.col_stride},
            .m = rows,
            .n = width,
            .depth = terms,
            .c = c + row * c_stride + column,
            .c_stride = c_stride,
            .add = add || term > 0};
  }
  // Of the round that begins with a term; 0 if there are no more.
  int64_t terms_from(int64_t term) const { return std::clamp<int64_t>(depth - term, 0, kDepth); }

  int64_t width(int64_t panel) const { return std::min(columns, n - panel * columns); }
  MatrixRef<T> panel_of_b(int64_t panel) const {
    return {b.data + panel * columns * b.col_stride, b.row_stride, b.col_stride};
  }
  // Rows of the strips of run number i.
  int64_t rows(const Runs& blocks, int64_t i) const {
    return strips.first(blocks.first(i + 1)) - strips.first(blocks.first(i));
  }
  MatrixRef<T> block_of_a(const Runs& blocks, int64_t i) const {
    return {a.data + strips.first(blocks.first(i)) * a.row_stride, a.row_stride, a.col_stride};
  }
  // Panels `begin` to `end`, panel_size apart. Of a row-major B all whole ones are packed at once,
  // as that goes through memory in longer runs.
  void pack_panels_of_b(int64_t begin, int64_t end, T* to) const {
    int64_t whole = begin;
    if (b.col_stride == 1) whole = width(end - 1) == columns ? end : end - 1;
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t p = begin; p < whole; ++p)
        copy(b.data + k * b.row_stride + p * columns, columns,
             to + (p - begin) * panel_size + k * columns);
    for (int64_t p = whole; p < end; ++p)
      pack_panel(panel_of_b(p), depth, width(p), to + (p - begin) * panel_size);
  }
  void pack_block_of_a(const Runs& blocks, int64_t i, T* to) const {
    pack_block(block_of_a(blocks, i), rows(blocks, i), depth, to);
  }

  // Number i of so many shares of the next round's B, which is packed before it multiplies.
  Ahead share_of_next_b(int64_t i, int64_t shares, int64_t fetches) const {
    const Runs rows(next_depth, shares);
    const T* const first = b.data + (depth + rows.first(i)) * b.row_stride;
    return {MatrixRef<T>{first, b.row_stride, 1}, rows.size(i), n, fetches};
  }
  // Calls of Ahead::fetch in so many products of a strip and a panel.
  int64_t fetches(int64_t products) const {
    return std::max<int64_t>(1, products * depth / kTermsPerFetch);
  }
  // The strips of run number i, which lie at `block`, times panels `begin` to `end`, which lie at
  // `right`, panel_size apart.
  void multiply(const Runs& blocks, int64_t i, Operand<T> block, int64_t begin, int64_t end,
                Operand<T> right, Ahead& ahead) const {
    const auto products =
        row_major ? multiply_run<T, true, kRowPitch> : multiply_run<T, false, kTermPitch>;
    const auto product =
        row_major ? multiply_strip<T, true, kRowPitch> : multiply_strip<T, false, kTermPitch>;
    if (begin == end) return;
    const int64_t first = blocks.first(i), last = blocks.first(i + 1);
    const int64_t whole = width(end - 1) == columns ? end - begin : end - 1 - begin;
    for (int64_t s = first; s < last; ++s) {
      const int64_t row = strips.first(s), below = row - strips.first(first);
      const Operand<T> left{block.data + below * (row_major ? block.step : 1), block.step};
      T* const to = c + row * c_stride + begin * columns;
      products(whole, {0, panel_size, columns}, left, right, strips.size(s), depth, 2, to, c_stride,
               add, ahead);
      if (begin + whole < end)
        product(left, {right.data + whole * panel_size, right.step}, strips.size(s), depth,
                width(end - 1), to + whole * columns, c_stride, add, ahead);
    }
  }
  // Whether panel p may be read where it lies: it is rows of vectors.
  bool lies_well(int64_t p) const {
    return b.col_stride == 1 && (width(p) == columns || width(p) == kLanes<T>);
  }
  // Strips `first` to `last`, which are read where they lie, times panel p, which lies well or was
  // packed.
  void multiply_in_place(int64_t first, int64_t last, int64_t p, const T* packed,
                         Ahead& ahead) const {
    const Operand<T> right =
        lies_well(p) ? Operand<T>{panel_of_b(p).data, b.row_stride} : Operand<T>{packed, columns};
    const auto products = row_major ? multiply_run<T, true, 0> : multiply_run<T, false, 0>;
    const auto product = row_major ? multiply_strip<T, true, 0> : multiply_strip<T, false, 0>;
    const bool whole = width(p) == columns || width(p) == kLanes<T>;
    for (int64_t s = first; s < last;) {
      const int64_t row = strips.first(s), rows = strips.size(s);
      const Operand<T> left{a.data + row * a.row_stride, row_major ? a.row_stride : a.col_stride};
      T* const to = c + row * c_stride + p * columns;
      const int64_t count = s < strips.longer ? std::min(last, strips.longer) - s : last - s;
      if (whole) {
        products(count, {rows * a.row_stride, 0, rows * c_stride}, left, right, rows, depth,
                 width(p) / kLanes<T>, to, c_stride, add, ahead);
        s += count;
      } else {
        product(left, right, rows, depth, width(p), to, c_stride, add, ahead);
        ++s;
      }
    }
  }
};

// Operands are read where they lie, but for panels that are not rows of vectors.
template <class T>
void multiply_small(const Round<T>& r) {
  T* const packed = Scratch<T>::of_thread().panels;
  if (!r.lies_well(0) || !r.lies_well(r.panels - 1))
    parallel_for(r.panels, grain_for(r.columns * r.depth), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        if (!r.lies_well(p)) r.pack_panels_of_b(p, p + 1, packed + p * r.panel_size);
    });
  const int64_t threads = num_threads(), wanted = threads == 1 ? 1 : 3 * threads;
  const Runs down(r.strips.count, std::min(r.strips.count, wanted));
  const Runs across(r.panels, std::min(r.panels, pieces(wanted, down.count)));
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    Ahead nothing;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across.count, run = piece % across.count;
      for (int64_t p = across.first(run); p < across.first(run + 1); ++p)
        r.multiply_in_place(down.first(i), down.first(i + 1), p, packed + p * r.panel_size,
                            nothing);
    }
  });
}

// The same on this thread alone.
template <class T>
void multiply_near(const Round<T>& r, Ahead& ahead) {
  T* const packed = Scratch<T>::of_thread().panels;
  for (int64_t p = 0; p < r.panels; ++p) {
    if (!r.lies_well(p)) r.pack_panels_of_b(p, p + 1, packed);
    r.multiply_in_place(0, r.strips.count, p, packed, ahead);
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
      r.pack_panels_of_b(p, p + 1, right);
      Ahead ahead;
      if (piece + threads < down.count * r.panels) {  // pieces go round
        const int64_t next = (piece + threads) % r.panels;
        ahead = {r.panel_of_b(next), r.depth, r.width(next),
                 r.fetches(r.strips.count / down.count)};
      }
      for (int64_t i = down.first(d); i < down.first(d + 1); ++i)
        r.multiply(blocks, i, {left + i * kBlock, r.pitch}, p, p + 1, {right, r.columns}, ahead);
    }
  });
}

// Many rows: all panels of B are packed first, or still are from the last round; a block of A by
// the thread that reads it, into that one's second-level cache.
template <class T>
void multiply_high(const Round<T>& r, bool same_b) {
  T* const right = Scratch<T>::of_thread().panels;
  const int64_t threads = num_threads();
  if (!same_b)
    parallel_for(r.panels, std::min<int64_t>(4, pieces(r.panels, threads)),
                 [&](int64_t begin, int64_t end) {
                   r.pack_panels_of_b(begin, end, right + begin * r.panel_size);
                 });
  // Blocks span all columns unless there would be too few of them to go round.
  const Runs blocks(
      r.strips.count,
      std::min(r.strips.count, pieces(pieces(r.strips.count, kTall), threads) * threads));
  const Runs across(r.panels, std::min(r.panels, pieces(3 * threads, blocks.count)));
  const int64_t first_last = std::max<int64_t>(0, blocks.count - threads);  // nobody has one after
  parallel_for(blocks.count * across.count, 1, [&](int64_t begin, int64_t end) {
    T* const left = Scratch<T>::of_thread().blocks;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across.count, run = piece % across.count, next = i + threads;
      r.pack_block_of_a(blocks, i, left);
      Ahead ahead;
      const int64_t fetches = r.fetches(blocks.size(i) * across.size(run));
      if (next < blocks.count)
        ahead = {r.block_of_a(blocks, next), r.rows(blocks, next), r.depth, fetches};
      else if (r.next_depth > 0)
        ahead = r.share_of_next_b(piece - first_last * across.count,
                                  (blocks.count - first_last) * across.count, fetches);
      const int64_t last = across.first(run + 1);
      for (int64_t p = across.first(run); p < last; p += kGroup)
        r.multiply(blocks, i, {left, r.pitch}, p, std::min(last, p + kGroup),
                   {right + p * r.panel_size, r.columns}, ahead);
    }
  });
}

// C in tiles, one for each thread: runs of strips and runs of panels.
struct Tiles {
  Runs down, across;
};
template <class T>
Tiles tiles_of(const Round<T>& r) {
  const int64_t threads = num_threads();
  Tiles best{{r.strips.count, 1}, {r.panels, 1}};
  double least = std::numeric_limits<double>::max();
  for (int64_t down = 1; down <= std::min(threads, r.strips.count); ++down) {
    const int64_t across = std::min(r.panels, threads / down);
    const auto strips = static_cast<double>(pieces(r.strips.count, down));
    const auto panels = static_cast<double>(pieces(r.panels, across));
    // A strip is packed in about a sixth of the time that it takes to multiply it by a panel.
    const double work = 6 * strips * panels + strips + 2.5 * panels;
    if (work >= least) continue;
    least = work;
    best = {{r.strips.count, down}, {r.panels, across}};
  }
  return best;
}

// Little of C and many terms: each thread takes its tile of C through all rounds and packs for it
// whatever that needs. To wait for each other after every round takes longer than to pack twice.
template <class T>
void multiply_deep(const Round<T>& all) {
  const Tiles tiles = tiles_of(all);
  const Runs &down = tiles.down, &across = tiles.across;
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    T* const right = Scratch<T>::of_thread().panels;
    T* const left = Scratch<T>::of_thread().blocks;
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t d = tile / across.count, x = tile % across.count;
      const int64_t row = all.strips.first(down.first(d)), column = across.first(x) * all.columns;
      const int64_t width = std::min(across.size(x) * all.columns, all.n - column);
      const auto round_at = [&](int64_t term) {
        term = std::min(term, all.depth);  // after the last one: a round without terms
        return all.part(row, all.rows(down, d), column, width, term, all.terms_from(term));
      };
      for (int64_t term = 0; term < all.depth; term += kDepth) {
        const Round<T> r = round_at(term), next = round_at(term + kDepth);
        const Runs blocks(r.strips.count, pieces(r.strips.count, kTall));
        const int64_t half = pieces(r.panels, 2);
        r.pack_panels_of_b(0, r.panels, right);
        for (int64_t i = 0; i < blocks.count; ++i) {
          r.pack_block_of_a(blocks, i, left);
          // What is packed next comes nearer: A in the first half, B in the second.
          const bool last = i + 1 == blocks.count;
          const Round<T>& then = last ? next : r;
          const int64_t b = last ? 0 : i + 1, fetches = r.fetches(blocks.size(i) * half);
          Ahead next_a(then.block_of_a(blocks, b), then.rows(blocks, b), then.depth, fetches);
          Ahead next_b(next.b, last ? next.depth : 0, r.n, fetches);
          r.multiply(blocks, i, {left, r.pitch}, 0, half, {right, r.columns}, next_a);
          r.multiply(blocks, i, {left, r.pitch}, half, r.panels,
                     {right + half * r.panel_size, r.columns}, next_b);
        }
      }
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
  constexpr int64_t wide = kWidePanels * kBlockColumns<T>;
  for (int64_t j = 0; j < n; j += wide) {
    const int64_t width = std::min(wide, n - j), size = m * width;
    if (m <= kHigh && k > kDepth && size * kDepth > kSmall && size <= kTile * num_threads()) {
      multiply_deep(all.part(0, m, j, width, 0, k));
      continue;
    }
    for (int64_t t = 0; t < k; t += kDepth)
      for (int64_t i = 0; i < m; i += kHigh) {
        Round<T> round = all.part(i, std::min(kHigh, m - i), j, width, t, all.terms_from(t));
        if (b.col_stride == 1 && i + kHigh >= m) round.next_depth = all.terms_from(t + kDepth);
        if (round.m * round.n * round.depth <= kSmall)
          multiply_small(round);
        else if (round.strips.count <= kLow)
          multiply_low(round);
        else
          multiply_high(round, i > 0);
      }
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
