// The packing of a matrix product and its micro-kernel: MR x NR sums, kept in registers, of a
// micro-panel of A (MR rows) and a micro-panel of B (NR columns). The loops around it are gemm()'s.
//
//   copy(a, depth, block); pack_term(a, rows, block);   // one row, one term of a micro-panel of A
//   pack_panel(b, depth, width, panel);                 // a micro-panel of B
//   multiply_one<T, kPackedRows>({block, kRowPitch}, {panel, kNR<T>}, ...);
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/cpu/gemm/gemm.h"
#include "core/cpu/gemm/transpose.h"
#include "core/cpu/pages.h"
#include "core/cpu/prefetch.h"
#include "core/cpu/vector.h"

namespace plimsoll::packed {

// With 32 registers: 14 x 2 sums, two vectors of B, an element of A.
constexpr int kMR = kVectorBytes == 64 ? 14 : kBlockRows;
template <class T>
constexpr int64_t kNR = kBlockColumns<T>;
constexpr int64_t kKC = 256;                      // terms of a KC block at most
constexpr int64_t kMcPanels = 8, kNcPanels = 32;  // MC / MR and NC / NR: micro-panels at most
constexpr int64_t kMostMcBlocks = 2;  // a thread holds so many of A, or one of twice as many rows
constexpr int64_t kTermsPerPrefetch = 8;  // a line is prefetched every so many terms
constexpr int64_t kTermsAhead = 8;  // of B that is packed on the way, to the first-level cache

// An MC block of A has the rows of up to kMcPanels micro-panels in the order in which they lie in
// memory, so that packing is copying: row by row, or term by term within each micro-panel. The
// distance of rows keeps them in different sets of the cache, that of terms keeps a micro-panel in
// few lines.
constexpr int64_t kRowPitch = kKC + 16, kTermPitch = kVectorBytes == 64 ? 16 : 8;
constexpr int64_t kPanelOfTerms = kKC * kTermPitch + 16;
constexpr int64_t kMcBlock = kMcPanels * std::max(kMR * kRowPitch, kPanelOfTerms);
static_assert(kMR <= kTermPitch);

// Of this thread, for what a product packs: gemm()'s operands, or those of gemm_tiles.h.
inline std::byte* page_of_thread() {
  thread_local const LargePage page = make_large_page();
  return page.get();
}

// This thread's memory for packed operands, kept from call to call: one large page, because a walk
// through the micro-panels of a KC block meets 256 small ones. It is the only memory of a kernel
// that no plan knows of.
template <class T>
struct PackBuffers {
  static constexpr int64_t kPanels = kNcPanels * kNR<T> * kKC;
  static constexpr int64_t kBlocks = kMostMcBlocks * kMcBlock;
  static_assert((kPanels + kBlocks) * int64_t{sizeof(T)} <= kLargePage);

  T *b_panels, *a_blocks;
  static PackBuffers of_thread() {
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

// Copies what `n` rows of a micro-panel of A have for one term.
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

// Packs `width` columns of B as a micro-panel [depth, NR], filled up with zeros.
template <class T>
void pack_panel(const MatrixRef<T>& b, int64_t depth, int64_t width, T* to) {
  constexpr int64_t columns = kNR<T>;
  if (b.row_stride == 1 && width == columns) {
    transpose(b.data, b.col_stride, columns, depth, to, columns);
    return;
  }
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t j = 0; j < columns; ++j)
      to[k * columns + j] = j < width ? b.data[k * b.row_stride + j * b.col_stride] : T{};
}

// ---- the innermost loop

// A micro-panel, packed or where it lies. In a row-major one of A the elements of a row are
// neighbours and rows are `step` apart; otherwise the elements that meet in one term are
// neighbours and terms are `step` apart.
template <class T>
struct Operand {
  const T* data;
  int64_t step;
};

// What is known of the operands when the code for them is compiled.
struct Form {
  bool row_major;      // the micro-panel of A
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
class APanel {
 public:
  explicit APanel(Operand<T> a) : at_(a.data), step_(kForm.a_step > 0 ? kForm.a_step : a.step) {}
  [[gnu::always_inline]] const T& operator[](int i) const {
    return at_[kForm.row_major ? i * step_ : i];
  }
  void next_term() { at_ += kForm.row_major ? 1 : step_; }

 private:
  const T* at_;
  int64_t step_;
};

// sum[v] += a right[v], in row number `i` of a term. In every other row of f32 the multiply-adds
// read `a` themselves, not a register that it was copied to: fewer instructions, which tells where
// another thread shares the core (docs/speed.md). In every row it would be more than two loads in a
// cycle. Only where GCC reaches `a` from one register: with an address of two the processor splits
// the instruction again. A sanitizer does not see such reads, and gets the others.
template <class T, Form kForm, int W>
[[gnu::always_inline]] inline void add_row([[maybe_unused]] int i, Vector<Accumulator<T>>* sum,
                                           const T& a, const Vector<T>* right) {
#if defined(__AVX512F__) && !defined(__SANITIZE_ADDRESS__)
  constexpr bool one_register = !kForm.row_major || kForm.a_step > 0;
  if constexpr (std::is_same_v<T, float> && W == 2 && one_register)
    if (i % 2) {
#pragma GCC unroll 2
      for (int v = 0; v < W; ++v)
        asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum[v]) : "v"(right[v]), "m"(a));
      return;
    }
#endif
#pragma GCC unroll 2
  for (int v = 0; v < W; ++v) add_product(sum[v], a, right[v]);
}

// The micro-kernel: R x W vectors of C. Lines of C and of what comes next are prefetched along the
// way, one by one, into the second-level cache: many at once would keep the operands waiting. A
// form that packs B copies its micro-panel to `packed`: between multiply-adds there is time for it.
template <class T, Form kForm, int R, int W>
[[gnu::always_inline]] inline void micro_kernel(Operand<T> a, Operand<T> b, int64_t depth,
                                                Accumulator<T>* c, int64_t c_stride, bool add,
                                                Prefetcher& ahead, T* packed = nullptr) {
  constexpr int64_t lanes = kLanes<T>;
  static_assert(sizeof(Accumulator<T>) == sizeof(T), "a vector of B meets one of sums");
  using V = Vector<T>;
  using VSum = Vector<Accumulator<T>>;
  using Left =
      std::conditional_t<kForm.row_major && kForm.a_step == 0, Rows<T, R>, APanel<T, kForm>>;
  VSum sum[R][W] = {};
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
        prefetch(b.data, kTermsAhead * b.step, W * lanes);
      }
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) add_row<T, kForm, W>(i, sum[i], left[i], right);
    }
  };
  const Accumulator<T>* c_row = c;
  int64_t k = 0;
  for (; k + kTermsPerPrefetch <= depth; k += kTermsPerPrefetch) {
    ahead.prefetch();
    for (int v = 0; v < W; ++v) __builtin_prefetch(c_row + v * lanes, 1, 2);
    if (k < (R - 1) * kTermsPerPrefetch) c_row += c_stride;
    add_terms(kTermsPerPrefetch);
  }
  add_terms(depth - k);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < W; ++v) {
      Accumulator<T>* to = c + i * c_stride + v * lanes;
      store(to, add ? load<VSum>(to) + sum[i][v] : sum[i][v]);
    }
}

// By how many elements the operands and C move from one product of a run to the next.
struct Move {
  int64_t a, b, c;
};

// Computes a run of products with the same number of rows, 1 ... kMR, and of vectors, 1 or 2. To
// choose the code for them takes some 80 cycles, as long as six terms: it is done once for all.
template <class T, Form kForm>
void multiply_run(int64_t count, Move move, Operand<T> a, Operand<T> b, int64_t rows, int64_t depth,
                  int64_t vectors, Accumulator<T>* c, int64_t c_stride, bool add,
                  Prefetcher& ahead) {
  const auto all = [&]<int R, int W>() __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i, a.data += move.a, b.data += move.b, c += move.c)
      micro_kernel<T, kForm, R, W>(a, b, depth, c, c_stride, add, ahead);
  };
  with_count<kMR>(rows, [&]<int R>() {
    vectors == 1 ? all.template operator()<R, 1>() : all.template operator()<R, 2>();
  });
}

// Computes one product of a whole micro-panel of B that is read where it lies, in rows, and packs
// it on the way.
template <class T, Form kForm>
void multiply_and_pack(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, Accumulator<T>* c,
                       int64_t c_stride, bool add, Prefetcher& ahead, T* packed) {
  constexpr Form form{kForm.row_major, kForm.a_step, true};
  with_count<kMR>(rows, [&]<int R>() {
    micro_kernel<T, form, R, 2>(a, b, depth, c, c_stride, add, ahead, packed);
  });
}

// Computes one product of `width` columns. Those that are not whole vectors go by way of a block of
// their own.
template <class T, Form kForm>
void multiply_one(Operand<T> a, Operand<T> b, int64_t rows, int64_t depth, int64_t width,
                  Accumulator<T>* c, int64_t c_stride, bool add, Prefetcher& ahead) {
  constexpr int64_t lanes = kLanes<T>, columns = kNR<T>;
  const bool narrow = width <= lanes, whole = width == (narrow ? lanes : columns);
  alignas(kVectorBytes) Accumulator<T> own[kMR * columns];
  multiply_run<T, kForm>(1, {}, a, b, rows, depth, narrow ? 1 : 2, whole ? c : own,
                         whole ? c_stride : columns, add && whole, ahead);
  if (whole) return;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      c[i * c_stride + j] = add ? c[i * c_stride + j] + own[i * columns + j] : own[i * columns + j];
}

}  // namespace plimsoll::packed
