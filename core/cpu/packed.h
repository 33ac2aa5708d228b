// Packed operands of a matrix product, and the innermost loop over them: a block of sums, kept in
// registers, of a strip of A and a panel of B. The loops around it are gemm()'s.
//
//   pack_block(a, rows, depth, block);        // strips of A, kBlockRows rows each
//   pack_panel(b, depth, width, panel);       // kBlockColumns columns of B
//   multiply_strip<T, true, kRowPitch>({block, kRowPitch}, {panel, kBlockColumns<T>}, ...);
#pragma once

#include <algorithm>

#include "core/cpu/gemm.h"
#include "core/cpu/pages.h"
#include "core/cpu/prefetch.h"
#include "core/cpu/transpose.h"
#include "core/cpu/vector.h"

namespace plimsoll::packed {

constexpr int64_t kDepth = 256, kTall = 8, kWidePanels = 32;  // terms, strips and panels at most
constexpr int64_t kMostBlocks = 2;                            // of A that a thread holds
constexpr int64_t kTermsPerFetch = 8;  // a line is fetched ahead every so many terms

// A block of A has the rows of up to kTall strips in the order in which they lie in memory, so that
// packing is copying: row by row, or term by term. The distances of rows and of terms keep them in
// different sets of the cache.
constexpr int64_t kRowPitch = kDepth + 16, kTermPitch = kTall * kBlockRows + 16;
constexpr int64_t kRows = kTall * kBlockRows * kRowPitch, kTerms = kDepth * kTermPitch;
constexpr int64_t kBlock = std::max(kRows, kTerms);

inline std::byte* page_of_thread() {
  thread_local const LargePage page = make_large_page();
  return page.get();
}

// This thread's memory for packed operands, kept from call to call: one large page, because a walk
// through the panels of a round meets 256 small ones. It is the only memory of a kernel that no plan
// knows of.
template <class T>
struct Scratch {
  static constexpr int64_t kPanels = kWidePanels * kBlockColumns<T> * kDepth;
  static constexpr int64_t kBlocks = kMostBlocks * kBlock;
  static_assert((kPanels + kBlocks) * int64_t{sizeof(T)} <= kLargePage);

  T *panels, *blocks;
  static Scratch of_thread() {
    T* const memory = reinterpret_cast<T*>(page_of_thread());
    return {memory, memory + kPanels};
  }
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
[[gnu::always_inline]] inline void multiply(Operand<T> a, Operand<T> b, int64_t depth, T* c,
                                            int64_t c_stride, bool add, Ahead& ahead) {
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

// From one product of a run to the next its operands and its C move by so many elements.
struct Move {
  int64_t a, b, c;
};

// A run of products with the same number of rows, 1 ... kBlockRows, and of vectors, 1 or 2. To
// choose the code for them takes some 80 cycles, as long as seven terms: it is done once for all.
template <class T, bool RowMajor, int64_t kStep>
void multiply_run(int64_t count, Move move, Operand<T> a, Operand<T> b, int64_t rows, int64_t depth,
                  int64_t vectors, T* c, int64_t c_stride, bool add, Ahead& ahead) {
  const auto all = [&]<int R, int W>() __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i, a.data += move.a, b.data += move.b, c += move.c)
      multiply<T, RowMajor, kStep, R, W>(a, b, depth, c, c_stride, add, ahead);
  };
  with_count<kBlockRows>(rows, [&]<int R>() {
    vectors == 1 ? all.template operator()<R, 1>() : all.template operator()<R, 2>();
  });
}

// One product of `width` columns: those that are not whole vectors go by way of a block of their
// own.
template <class T, bool RowMajor, int64_t kStep>
void multiply_strip(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, int64_t width, T* c,
                    int64_t c_stride, bool add, Ahead& ahead) {
  constexpr int64_t lanes = kLanes<T>, columns = kBlockColumns<T>;
  const bool narrow = width <= lanes, whole = width == (narrow ? lanes : columns);
  alignas(kVectorBytes) T own[kBlockRows * columns];
  multiply_run<T, RowMajor, kStep>(1, {}, a, b, rows, depth, narrow ? 1 : 2, whole ? c : own,
                                   whole ? c_stride : columns, add && whole, ahead);
  if (whole) return;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      c[i * c_stride + j] = add ? c[i * c_stride + j] + own[i * columns + j] : own[i * columns + j];
}

}  // namespace plimsoll::packed
