// Packed operands of a matrix product, and the innermost loop over them: a block of sums, kept in
// registers, of a strip of A and a panel of B. The loops around it are gemm()'s.
//
//   copy(a, depth, block); pack_term(a, rows, block);   // of a strip: one row, one term
//   pack_panel(b, depth, width, panel);       // kBlockColumns columns of B
//   multiply_strip<T, kPackedRows>({block, kRowPitch}, {panel, kBlockColumns<T>}, ...);
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/cpu/gemm/fetch.h"
#include "core/cpu/gemm/gemm.h"
#include "core/cpu/gemm/prefetch.h"
#include "core/cpu/gemm/transpose.h"
#include "core/cpu/pages.h"
#include "core/cpu/vector.h"

namespace plimsoll::packed {

// With 32 registers: 14 x 2 sums, two vectors of B, an element of A.
constexpr int kStripRows = kVectorBytes == 64 ? 14 : kBlockRows;
constexpr int64_t kDepth = 256, kTall = 8, kWidePanels = 32;  // terms, strips and panels at most
constexpr int64_t kMostBlocks = 2;     // of A that a thread holds, or one of twice as many strips
constexpr int64_t kTermsPerFetch = 8;  // a line is fetched ahead every so many terms
constexpr int64_t kTermsAhead = 8;     // of B that is packed on the way, to the first-level cache

// A block of A has the rows of up to kTall strips in the order in which they lie in memory, so that
// packing is copying: row by row, or term by term, then strip by strip. The distance of rows keeps
// them in different sets of the cache, that of terms keeps a strip in few lines.
constexpr int64_t kRowPitch = kDepth + 16, kTermPitch = kVectorBytes == 64 ? 16 : 8;
constexpr int64_t kStripOfTerms = kDepth * kTermPitch + 16;
constexpr int64_t kBlock = kTall * std::max(kStripRows * kRowPitch, kStripOfTerms);
static_assert(kStripRows <= kTermPitch);

inline std::byte* page_of_thread() {
  thread_local const LargePage page = make_large_page();
  return page.get();
}

// This thread's memory for packed operands, kept from call to call: one large page, because a walk
// through the panels of a round meets 256 small ones. It is the only memory of a kernel that no
// plan knows of.
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

// What `n` rows of a strip have for one term.
template <class T>
void pack_term(const T* from, int64_t n, T* to) {
  constexpr int64_t half = kTermPitch / 2;
  if (n < half) {
    std::copy_n(from, n, to);
    return;
  }
  std::memcpy(to, from, half * sizeof(T));  // two runs that overlap
  std::memcpy(to + n - half, from + n - half, half * sizeof(T));
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

// What is known of the operands when the code for them is compiled.
struct Form {
  bool row_major;      // A's strip
  int64_t a_step = 0;  // of A, which saves registers for addresses; 0: it is a.step
  bool packs_b = false;
};
constexpr Form kPackedRows{true, kRowPitch}, kPackedTerms{false, kTermPitch};
constexpr Form kRowsInPlace{true}, kTermsInPlace{false};

// The elements of R rows that meet in one term. An address is a register and once, twice, four or
// eight times another: two rows and one, three and five steps give all of up to fourteen rows.
template <class T, int R>
class Rows {
 public:
  static_assert(R <= 14);
  explicit Rows(Operand<T> a)
      : low_(reinterpret_cast<const char*>(a.data)),
        one_(a.step * static_cast<int64_t>(sizeof(T))),
        three_(3 * one_),
        five_(5 * one_),
        high_(low_ + kHalf * one_) {
    asm volatile("" : "+r"(one_), "+r"(three_), "+r"(five_), "+r"(high_));  // they stay there
  }
  [[gnu::always_inline]] const T& operator[](int i) const {
    const char* const from = i < kHalf ? low_ : high_;
    const int64_t steps[] = {0, one_, 2 * one_, three_, 4 * one_, five_, 2 * three_};
    return *reinterpret_cast<const T*>(from + steps[i % kHalf]);
  }
  void next_term() { low_ += sizeof(T), high_ += sizeof(T); }

 private:
  static constexpr int kHalf = (R + 1) / 2;
  const char* low_;
  int64_t one_, three_, five_;
  const char* high_;
};
// The same, with rows a known distance apart, or with those of a term side by side.
template <class T, Form kForm>
class Strip {
 public:
  explicit Strip(Operand<T> a) : at_(a.data), step_(kForm.a_step > 0 ? kForm.a_step : a.step) {}
  [[gnu::always_inline]] const T& operator[](int i) const {
    return at_[kForm.row_major ? i * step_ : i];
  }
  void next_term() { at_ += kForm.row_major ? 1 : step_; }

 private:
  const T* at_;
  int64_t step_;
};

// R x W vectors of C. Lines of C and of what comes next are asked for one by one along the way,
// into the second-level cache: many at once would keep the operands waiting. A form that packs B
// copies its panel to `packed`: between multiply-adds there is time for it.
template <class T, Form kForm, int R, int W>
[[gnu::always_inline]] inline void multiply(Operand<T> a, Operand<T> b, int64_t depth, T* c,
                                            int64_t c_stride, bool add, Ahead& ahead,
                                            T* packed = nullptr) {
  constexpr int64_t lanes = kLanes<T>;
  using V = Vector<T>;
  using Left =
      std::conditional_t<kForm.row_major && kForm.a_step == 0, Rows<T, R>, Strip<T, kForm>>;
  V sum[R][W] = {};
  Left left(a);
  const auto add_terms = [&](int64_t n) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int64_t t = 0; t < n; ++t, left.next_term(), b.data += b.step) {
      V right[W];
#pragma GCC unroll 2
      for (int v = 0; v < W; ++v) right[v] = load<V>(b.data + v * lanes);
      if constexpr (kForm.packs_b) {
#pragma GCC unroll 2
        for (int v = 0; v < W; ++v) store(packed + v * lanes, right[v]);
        packed += W * lanes;
        fetch(b.data, kTermsAhead * b.step, W * lanes);
      }
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < W; ++v) sum[i][v] += left[i] * right[v];
    }
  };
  const T* c_row = c;
  int64_t k = 0;
  for (; k + kTermsPerFetch <= depth; k += kTermsPerFetch) {
    ahead.fetch();
    for (int v = 0; v < W; ++v) __builtin_prefetch(c_row + v * lanes, 1, 2);
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

// A run of products with the same number of rows, 1 ... kStripRows, and of vectors, 1 or 2. To
// choose the code for them takes some 80 cycles, as long as six terms: it is done once for all.
template <class T, Form kForm>
void multiply_run(int64_t count, Move move, Operand<T> a, Operand<T> b, int64_t rows, int64_t depth,
                  int64_t vectors, T* c, int64_t c_stride, bool add, Ahead& ahead) {
  const auto all = [&]<int R, int W>() __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i, a.data += move.a, b.data += move.b, c += move.c)
      multiply<T, kForm, R, W>(a, b, depth, c, c_stride, add, ahead);
  };
  with_count<kStripRows>(rows, [&]<int R>() {
    vectors == 1 ? all.template operator()<R, 1>() : all.template operator()<R, 2>();
  });
}

// One product of a whole panel that is read where it lies, in rows, and is packed on the way.
template <class T, Form kForm>
void multiply_and_pack(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, T* c,
                       int64_t c_stride, bool add, Ahead& ahead, T* packed) {
  constexpr Form form{kForm.row_major, kForm.a_step, true};
  with_count<kStripRows>(rows, [&]<int R>() {
    multiply<T, form, R, 2>(a, b, depth, c, c_stride, add, ahead, packed);
  });
}

// One product of `width` columns: those that are not whole vectors go by way of a block of their
// own.
template <class T, Form kForm>
void multiply_strip(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, int64_t width, T* c,
                    int64_t c_stride, bool add, Ahead& ahead) {
  constexpr int64_t lanes = kLanes<T>, columns = kBlockColumns<T>;
  const bool narrow = width <= lanes, whole = width == (narrow ? lanes : columns);
  alignas(kVectorBytes) T own[kStripRows * columns];
  multiply_run<T, kForm>(1, {}, a, b, rows, depth, narrow ? 1 : 2, whole ? c : own,
                         whole ? c_stride : columns, add && whole, ahead);
  if (whole) return;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      c[i * c_stride + j] = add ? c[i * c_stride + j] + own[i * columns + j] : own[i * columns + j];
}

}  // namespace plimsoll::packed
