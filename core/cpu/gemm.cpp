#include "core/cpu/gemm.h"

#include <vector>

#include "core/cpu/parallel.h"
#include "core/cpu/transpose.h"

namespace plimsoll {
namespace {

// The loops of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008:
//
//   for up to kWidePanels panels of columns  the operands of a round, packed by all threads, lie in
//     for up to kDepth terms                 the cache of the last level
//       for up to kHigh rows
//         for blocks of C, in parallel       kTall strips of A lie in the second level
//           for panels of kBlockColumns      a panel of B lies in the first level
//             for strips of kBlockRows       kBlockRows x kBlockColumns sums lie in registers
//
// An element of C is the sum over k in the order of k, in rounds of kDepth terms, wherever the
// blocks are cut: its bits depend on the operands alone.
constexpr int64_t kDepth = 256, kTall = 8, kHigh = 96 * kBlockRows, kWidePanels = 32;
constexpr int64_t kSmall = 1 << 20;  // multiply-adds of a product that is not worth packing

// A strip holds kBlockRows rows of A in the order in which they lie in memory, so that packing is
// copying: row by row (their distance keeps them in different sets of the cache), or term by term.
constexpr int64_t kRowPitch = kDepth + 16;
constexpr int64_t kStrip = kBlockRows * kRowPitch;

// This thread's memory for packed operands, kept from call to call: 2.3 MB at most in f32, 3.5 in
// f64. It is the only memory of a kernel that no plan knows of.
template <class T>
struct Scratch {
  std::vector<T> strips, panels;
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
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(to + i, load<Vector<T>>(from + i));
  for (; i < n; ++i) to[i] = from[i];
}

// Strips begin ... end - 1 of A, to `to`. The terms of a column-major A are far apart, which no
// prefetcher follows.
template <class T>
void pack_strips(const MatrixRef<T>& a, const Runs& rows, int64_t begin, int64_t end, int64_t depth,
                 T* to) {
  if (a.col_stride == 1) {
    for (int64_t s = begin; s < end; ++s)
      for (int64_t i = 0; i < rows.size(s); ++i)
        copy(a.data + (rows.first(s) + i) * a.row_stride, depth,
             to + (s - begin) * kStrip + i * kRowPitch);
    return;
  }
  constexpr int64_t ahead = 12, line = 64 / sizeof(T);
  for (int64_t k = 0; k < depth; ++k) {
    const T* from = a.data + k * a.col_stride;
    for (int64_t i = rows.first(begin); i < rows.first(end); i += line)
      __builtin_prefetch(from + ahead * a.col_stride + i);
    for (int64_t s = begin; s < end; ++s)
      for (int64_t i = 0; i < rows.size(s); ++i)
        to[(s - begin) * kStrip + k * kBlockRows + i] = from[rows.first(s) + i];
  }
}

// `width` columns of B as [depth, kBlockColumns], filled up with zeros.
template <class T>
void pack_panel(const MatrixRef<T>& b, int64_t depth, int64_t width, T* to) {
  constexpr int64_t columns = kBlockColumns<T>, lanes = kLanes<T>;
  if (b.col_stride == 1 && width == columns) {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t v = 0; v < columns; v += lanes)
        store(to + k * columns + v, load<Vector<T>>(b.data + k * b.row_stride + v));
    return;
  }
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

// R x W vectors of C.
template <class T, bool RowMajor, int R, int W>
void multiply(Operand<T> a, Operand<T> b, int64_t depth, T* c, int64_t c_stride, bool add) {
  constexpr int64_t lanes = kLanes<T>;
  using V = Vector<T>;
  const T* rows[R];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) rows[i] = a.data + i * (RowMajor ? a.step : 1);
  if (depth >= 64)  // long enough for C to arrive meanwhile
    for (int i = 0; i < R; ++i)
      for (int v = 0; v < W; ++v) __builtin_prefetch(c + i * c_stride + v * lanes, 1);
  V sum[R][W] = {};
  for (int64_t k = 0, t = 0; k < depth; ++k, t += RowMajor ? 1 : a.step, b.data += b.step) {
    V right[W];
#pragma GCC unroll 2
    for (int v = 0; v < W; ++v) right[v] = load<V>(b.data + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < W; ++v) sum[i][v] += (RowMajor ? rows[i][t] : a.data[t + i]) * right[v];
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < W; ++v) {
      T* to = c + i * c_stride + v * lanes;
      store(to, add ? load<V>(to) + sum[i][v] : sum[i][v]);
    }
}

// The same for `width` columns: those that are not whole vectors go by way of a block of their own.
template <class T, bool RowMajor>
void multiply_strip(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, int64_t width, T* c,
                    int64_t c_stride, bool add) {
  constexpr int64_t lanes = kLanes<T>, columns = kBlockColumns<T>;
  const bool narrow = width <= lanes, whole = width == (narrow ? lanes : columns);
  alignas(kVectorBytes) T own[kBlockRows * columns];
  T* to = whole ? c : own;
  const int64_t step = whole ? c_stride : columns;
  with_count<kBlockRows>(rows, [&]<int R>() {
    if (narrow)
      multiply<T, RowMajor, R, 1>(a, b, depth, to, step, add && whole);
    else
      multiply<T, RowMajor, R, 2>(a, b, depth, to, step, add && whole);
  });
  if (whole) return;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      c[i * c_stride + j] = add ? c[i * c_stride + j] + own[i * columns + j] : own[i * columns + j];
}

// One round: [m, depth] times [depth, n], into C. With `same_b`, B is still packed from the last.
template <class T>
void multiply_round(const MatrixRef<T>& a, const MatrixRef<T>& b, int64_t m, int64_t n,
                    int64_t depth, T* c, int64_t c_stride, bool add, bool same_b) {
  constexpr int64_t columns = kBlockColumns<T>;
  const Runs rows(m, pieces(m, kBlockRows));
  const int64_t panels = pieces(n, columns);
  const auto width = [&](int64_t p) { return std::min(columns, n - p * columns); };
  const bool row_major = a.col_stride == 1;

  // A small product reads its operands where they lie, but for panels that are not rows of vectors.
  const bool small = m * n * depth <= kSmall;
  const auto lies_well = [&](int64_t p) {
    return small && b.col_stride == 1 && (width(p) == columns || width(p) == kLanes<T>);
  };
  // Blocks span all columns unless there would be too few of them to go round.
  const int64_t threads = num_threads();
  const Runs down(rows.count,
                  std::min(rows.count, pieces(pieces(rows.count, kTall), threads) * threads));
  const Runs across(panels, std::min(panels, pieces(3 * threads, down.count)));
  // Strips that one block alone reads are packed by its own thread, into that one's cache.
  const bool shared = !small && !row_major && across.count > 1;

  auto& memory = Scratch<T>::of_thread();
  T* const left = shared ? memory.at_least(memory.strips, rows.count * kStrip) : nullptr;
  T* const right = memory.at_least(memory.panels, panels * columns * depth);
  const int64_t to_pack = shared ? panels + down.count : panels;
  parallel_for(to_pack, grain_for(columns * depth), [&](int64_t begin, int64_t end) {
    for (int64_t i = same_b ? std::max(begin, panels) : begin; i < end; ++i)
      if (i >= panels)
        pack_strips(a, rows, down.first(i - panels), down.first(i - panels + 1), depth,
                    left + down.first(i - panels) * kStrip);
      else if (!lies_well(i))
        pack_panel<T>({b.data + i * columns * b.col_stride, b.row_stride, b.col_stride}, depth,
                      width(i), right + i * columns * depth);
  });

  const auto multiply = row_major ? multiply_strip<T, true> : multiply_strip<T, false>;
  parallel_for(down.count * across.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t s0 = down.first(block / across.count), p0 = across.first(block % across.count);
      const int64_t s1 = s0 + down.size(block / across.count),
                    p1 = p0 + across.size(block % across.count);
      T* strips = shared ? left + s0 * kStrip : nullptr;
      if (!small && !shared) {
        auto& own = Scratch<T>::of_thread();
        strips = own.at_least(own.strips, kTall * kStrip);
        pack_strips(a, rows, s0, s1, depth, strips);
      }
      const auto strip = [&](int64_t s) -> Operand<T> {
        if (!small) return {strips + (s - s0) * kStrip, row_major ? kRowPitch : kBlockRows};
        return {a.data + rows.first(s) * a.row_stride, row_major ? a.row_stride : a.col_stride};
      };
      const auto panel = [&](int64_t p) -> Operand<T> {
        if (lies_well(p)) return {b.data + p * columns, b.row_stride};
        return {right + p * columns * depth, columns};
      };
      for (int64_t p = p0; p < p1; ++p)
        for (int64_t s = s0; s < s1; ++s)
          multiply(strip(s), panel(p), rows.size(s), depth, width(p),
                   c + rows.first(s) * c_stride + p * columns, c_stride, add);
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
      for (int64_t i = 0; i < m; i += kHigh)
        multiply_round<T>(
            {a.data + i * a.row_stride + t * a.col_stride, a.row_stride, a.col_stride},
            {b.data + t * b.row_stride + j * b.col_stride, b.row_stride, b.col_stride},
            std::min(kHigh, m - i), std::min(wide, n - j), std::min(kDepth, k - t),
            c + i * c_stride + j, c_stride, store == Store::accumulate || t > 0, i > 0);
}

template void gemm<float>(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>, float*,
                          int64_t, Store);
template void gemm<double>(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>, double*,
                           int64_t, Store);

}  // namespace plimsoll
