#include "core/cpu/gemm.h"

#include <vector>

#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "core/cpu/transpose.h"

namespace plimsoll {
namespace {

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
constexpr int64_t kDepth = 256, kTall = 8, kGroup = 8, kHigh = 96 * kBlockRows, kWidePanels = 32;
constexpr int64_t kSmall = 1 << 20;    // multiply-adds of a product that is not worth packing
constexpr int64_t kLow = kTall;        // strips of a product whose A is packed first
constexpr int64_t kTermsPerFetch = 8;  // a line is fetched ahead every so many terms

// A block of A has the rows of up to kTall strips in the order in which they lie in memory, so that
// packing is copying: row by row, or term by term. The distances of rows and of terms keep them in
// different sets of the cache.
constexpr int64_t kRowPitch = kDepth + 16, kTermPitch = kTall * kBlockRows + 16;
constexpr int64_t kRows = kTall * kBlockRows * kRowPitch, kTerms = kDepth * kTermPitch;
constexpr int64_t kBlock = std::max(kRows, kTerms);

// This thread's memory for packed operands, kept from call to call: 1.3 MB at most in f32, 1.5
// in f64. It is the only memory of a kernel that no plan knows of.
template <class T>
struct Scratch {
  std::vector<T> blocks, panels;
  static Scratch& of_thread() {
    thread_local Scratch own;
    return own;
  }
  static T* at_least(std::vector<T>& memory, int64_t elements) {
    if (std::ssize(memory) < elements) memory.resize(static_cast<size_t>(elements));
    return memory.data();
  }
};

// n things in `count` runs that differ by one at most.
struct Runs {
  int64_t count, length, longer;
  Runs(int64_t n, int64_t runs) : count(runs), length(n / runs), longer(n % runs) {}
  int64_t first(int64_t run) const { return run * length + std::min(run, longer); }
  int64_t size(int64_t run) const { return length + (run < longer); }
};

// ---- packing

template <class T>
void copy(const T* from, int64_t n, T* to) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(to + i, load<Vector<T>>(from + i));
  if (i < n && n >= lanes) {  // the last vector overlaps the one before
    i = n - lanes;
    store(to + i, load<Vector<T>>(from + i));
    return;
  }
  for (; i < n; ++i) to[i] = from[i];
}

// The first `rows` rows of A as a block.
template <class T>
void pack_block(const MatrixRef<T>& a, int64_t rows, int64_t depth, T* to) {
  if (a.col_stride == 1)
    for (int64_t i = 0; i < rows; ++i) copy(a.data + i * a.row_stride, depth, to + i * kRowPitch);
  else
    for (int64_t k = 0; k < depth; ++k) copy(a.data + k * a.col_stride, rows, to + k * kTermPitch);
}

// `width` columns of B as [depth, kBlockColumns], filled up with zeros.
template <class T>
void pack_panel(const MatrixRef<T>& b, int64_t depth, int64_t width, T* to) {
  constexpr int64_t columns = kBlockColumns<T>;
  if (b.row_stride == 1 && width == columns) {
    transpose(b.data, b.col_stride, columns, depth, to, columns);
    return;
  }
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t j = 0; j < columns; ++j)
      to[k * columns + j] = j < width ? b.data[k * b.row_stride + j * b.col_stride] : T(0);
}

// ---- the innermost loop

// A strip of A or a panel of B, packed or where it lies. In a row-major strip the elements of a row
// are neighbours and rows are `step` apart; otherwise the elements that meet in one term are
// neighbours and terms are `step` apart.
template <class T>
struct Operand {
  const T* data;
  int64_t step;
};

// R x W vectors of C. Lines of C and of what comes next are asked for one by one along the way:
// many at once would keep the operands waiting. kStep: the step of A, if it is known when this is
// compiled, which saves registers for addresses and a tenth of the time; 0: it is a.step.
template <class T, bool RowMajor, int64_t kStep, int R, int W>
void multiply(Operand<T> a, Operand<T> b, int64_t depth, T* c, int64_t c_stride, bool add,
              Ahead<T>& ahead) {
  constexpr int64_t lanes = kLanes<T>;
  using V = Vector<T>;
  const int64_t step = kStep > 0 ? kStep : a.step;
  V sum[R][W] = {};
  const auto add_terms = [&](int64_t n) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int64_t t = 0; t < n; ++t, a.data += RowMajor ? 1 : step, b.data += b.step) {
      V right[W];
#pragma GCC unroll 2
      for (int v = 0; v < W; ++v) right[v] = load<V>(b.data + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < W; ++v) sum[i][v] += a.data[RowMajor ? i * step : i] * right[v];
    }
  };
  const T* c_row = c;
  int64_t k = 0;
  for (; k + kTermsPerFetch <= depth; k += kTermsPerFetch) {
    ahead.fetch();
    for (int v = 0; v < W; ++v) __builtin_prefetch(c_row + v * lanes, 1);
    if (k < (R - 1) * kTermsPerFetch) c_row += c_stride;
    add_terms(kTermsPerFetch);
  }
  add_terms(depth - k);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < W; ++v) {
      T* to = c + i * c_stride + v * lanes;
      store(to, add ? load<V>(to) + sum[i][v] : sum[i][v]);
    }
}

// The same for `width` columns: those that are not whole vectors go by way of a block of their own.
template <class T, bool RowMajor, int64_t kStep>
void multiply_strip(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, int64_t width, T* c,
                    int64_t c_stride, bool add, Ahead<T>& ahead) {
  constexpr int64_t lanes = kLanes<T>, columns = kBlockColumns<T>;
  const bool narrow = width <= lanes, whole = width == (narrow ? lanes : columns);
  alignas(kVectorBytes) T own[kBlockRows * columns];
  T* to = whole ? c : own;
  const int64_t c_step = whole ? c_stride : columns;
  with_count<kBlockRows>(rows, [&]<int R>() {
    if (narrow)
      multiply<T, RowMajor, kStep, R, 1>(a, b, depth, to, c_step, add && whole, ahead);
    else
      multiply<T, RowMajor, kStep, R, 2>(a, b, depth, to, c_step, add && whole, ahead);
  });
  if (whole) return;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      c[i * c_stride + j] = add ? c[i * c_stride + j] + own[i * columns + j] : own[i * columns + j];
}

// ---- the loops around it

// [m, depth] times [depth, n], into C or added to it.
template <class T>
struct Round {
  MatrixRef<T> a, b;
  int64_t m, n, depth;
  T* c;
  int64_t c_stride;
  bool add;
  int64_t next_depth;  // of a round that follows with the next rows of a row-major B, or 0

  static constexpr int64_t columns = kBlockColumns<T>, panel_size = columns * kDepth;
  Runs strips{m, pieces(m, kBlockRows)};
  int64_t panels = pieces(n, columns);
  bool row_major = a.col_stride == 1;
  int64_t pitch = row_major ? kRowPitch : kTermPitch;

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
  Ahead<T> share_of_next_b(int64_t i, int64_t shares, int64_t fetches) const {
    const Runs rows(next_depth, shares);
    const T* const first = b.data + (depth + rows.first(i)) * b.row_stride;
    return {{first, b.row_stride, 1}, rows.size(i), n, fetches};
  }
  // Calls of Ahead::fetch in so many products of a strip and a panel.
  int64_t fetches(int64_t products) const {
    return std::max<int64_t>(1, products * depth / kTermsPerFetch);
  }
  // The strips of run number i, which lie at `block`, times panels `begin` to `end`, which lie at
  // `right`, panel_size apart.
  template <bool kPacked>
  void multiply(const Runs& blocks, int64_t i, Operand<T> block, int64_t begin, int64_t end,
                Operand<T> right, Ahead<T>& ahead) const {
    constexpr int64_t row_step = kPacked ? kRowPitch : 0, term_step = kPacked ? kTermPitch : 0;
    const auto product =
        row_major ? multiply_strip<T, true, row_step> : multiply_strip<T, false, term_step>;
    const int64_t first = blocks.first(i), last = blocks.first(i + 1);
    for (int64_t s = first; s < last; ++s) {
      const int64_t row = strips.first(s), below = row - strips.first(first);
      const Operand<T> left{block.data + below * (row_major ? block.step : 1), block.step};
      for (int64_t p = begin; p < end; ++p)
        product(left, {right.data + (p - begin) * panel_size, right.step}, strips.size(s), depth,
                width(p), c + row * c_stride + p * columns, c_stride, add, ahead);
    }
  }
};

// Operands are read where they lie, but for panels that are not rows of vectors.
template <class T>
void multiply_small(const Round<T>& r) {
  constexpr int64_t columns = Round<T>::columns;
  const auto lies_well = [&](int64_t p) {
    return r.b.col_stride == 1 && (r.width(p) == columns || r.width(p) == kLanes<T>);
  };
  auto& memory = Scratch<T>::of_thread();
  T* const right = memory.at_least(memory.panels, r.panels * r.panel_size);
  parallel_for(r.panels, grain_for(columns * r.depth), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      if (!lies_well(p)) r.pack_panels_of_b(p, p + 1, right + p * r.panel_size);
  });
  const int64_t wanted = 3 * num_threads();
  const Runs down(r.strips.count, std::min(r.strips.count, wanted));
  const Runs across(r.panels, std::min(r.panels, pieces(wanted, down.count)));
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    Ahead<T> nothing;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across.count, run = piece % across.count;
      const Operand<T> rows{r.block_of_a(down, i).data,
                            r.row_major ? r.a.row_stride : r.a.col_stride};
      for (int64_t p = across.first(run); p < across.first(run + 1); ++p) {
        const Operand<T> panel = lies_well(p) ? Operand<T>{r.panel_of_b(p).data, r.b.row_stride}
                                              : Operand<T>{right + p * r.panel_size, r.columns};
        r.template multiply<false>(down, i, rows, p, p + 1, panel, nothing);
      }
    }
  });
}

// A few rows: all of A is packed first, a panel of B by the thread that reads it, into that one's
// first-level cache.
template <class T>
void multiply_low(const Round<T>& r) {
  const Runs blocks(r.strips.count, pieces(r.strips.count, kTall / 2));
  auto& memory = Scratch<T>::of_thread();
  T* const left = memory.at_least(memory.blocks, blocks.count * kBlock);
  parallel_for(blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) r.pack_block_of_a(blocks, i, left + i * kBlock);
  });
  const int64_t threads = num_threads();
  const Runs down(blocks.count, std::min(blocks.count, pieces(3 * threads, r.panels)));
  parallel_for(down.count * r.panels, 1, [&](int64_t begin, int64_t end) {
    auto& own = Scratch<T>::of_thread();
    T* const right = own.at_least(own.panels, r.panel_size);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t d = piece / r.panels, p = piece % r.panels;
      r.pack_panels_of_b(p, p + 1, right);
      Ahead<T> ahead;
      if (piece + threads < down.count * r.panels) {  // pieces go round
        const int64_t next = (piece + threads) % r.panels;
        ahead = {r.panel_of_b(next), r.depth, r.width(next),
                 r.fetches(r.strips.count / down.count)};
      }
      for (int64_t i = down.first(d); i < down.first(d + 1); ++i)
        r.template multiply<true>(blocks, i, {left + i * kBlock, r.pitch}, p, p + 1,
                                  {right, r.columns}, ahead);
    }
  });
}

// Many rows: all panels of B are packed first, or still are from the last round; a block of A by
// the thread that reads it, into that one's second-level cache.
template <class T>
void multiply_high(const Round<T>& r, bool same_b) {
  auto& memory = Scratch<T>::of_thread();
  T* const right = memory.at_least(memory.panels, r.panels * r.panel_size);
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
    auto& own = Scratch<T>::of_thread();
    T* const left = own.at_least(own.blocks, kBlock);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across.count, run = piece % across.count, next = i + threads;
      r.pack_block_of_a(blocks, i, left);
      Ahead<T> ahead;
      const int64_t fetches = r.fetches(blocks.size(i) * across.size(run));
      if (next < blocks.count)
        ahead = {r.block_of_a(blocks, next), r.rows(blocks, next), r.depth, fetches};
      else if (r.next_depth > 0)
        ahead = r.share_of_next_b(piece - first_last * across.count,
                                  (blocks.count - first_last) * across.count, fetches);
      const int64_t last = across.first(run + 1);
      for (int64_t p = across.first(run); p < last; p += kGroup)
        r.template multiply<true>(blocks, i, {left, r.pitch}, p, std::min(last, p + kGroup),
                                  {right + p * r.panel_size, r.columns}, ahead);
    }
  });
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_stride,
          Store store) {
  if (k == 0 && store == Store::overwrite)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T(0));
  constexpr int64_t wide = kWidePanels * kBlockColumns<T>;
  for (int64_t j = 0; j < n; j += wide)
    for (int64_t t = 0; t < k; t += kDepth)
      for (int64_t i = 0; i < m; i += kHigh) {
        const bool fetches_b = b.col_stride == 1 && i + kHigh >= m;
        const Round<T> round{
            .a = {a.data + i * a.row_stride + t * a.col_stride, a.row_stride, a.col_stride},
            .b = {b.data + t * b.row_stride + j * b.col_stride, b.row_stride, b.col_stride},
            .m = std::min(kHigh, m - i),
            .n = std::min(wide, n - j),
            .depth = std::min(kDepth, k - t),
            .c = c + i * c_stride + j,
            .c_stride = c_stride,
            .add = store == Store::accumulate || t > 0,
            .next_depth = fetches_b ? std::clamp<int64_t>(k - t - kDepth, 0, kDepth) : 0};
        if (round.m * round.n * round.depth <= kSmall)
          multiply_small(round);
        else if (round.strips.count <= kLow)
          multiply_low(round);
        else
          multiply_high(round, i > 0);
      }
}

template void gemm<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>, float*,
                          int64_t, Store);
template void gemm<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>, double*,
                           int64_t, Store);

}  // namespace plimsoll
