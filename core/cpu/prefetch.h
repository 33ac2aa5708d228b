// Prefetching asks for memory that will be read soon. A processor looks some hundred instructions
// ahead by itself: where a loop computes much for each element that is a few lines, and with
// operands from far away it waits most of the time (gelu's gradient: two thirds). For the operands
// that a product packs next, a Prefetcher does so line by line.
//
//   in_runs(begin, end, [&](int64_t i, int64_t stop) { ... elements i to stop - 1 ... }, dy, x);
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cpu/parallel.h"

namespace plimsoll {

// Asks for n elements, `ahead` elements behind p. They need not be there: past the end of an array
// nothing happens.
template <int kToWrite = 0, class T>
void prefetch(const T* p, int64_t ahead, int64_t n) {
  const auto first = reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(ahead) * sizeof(T);
  const auto bytes = static_cast<uintptr_t>(n) * sizeof(T);
  for (uintptr_t at = 0; at < bytes; at += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(first + at), kToWrite);
}

// The same for elements that will be written: a store reads its line first, and lines that do not
// follow each other are not read ahead.
template <class T>
void prefetch_to_write(T* p, int64_t ahead, int64_t n) {
  prefetch<1>(p, ahead, n);
}

// Asks for the row of n elements behind the one that begins at p, or for as much of it as can wait:
// more at once would keep others waiting.
template <class T>
void prefetch_next_row(const T* p, int64_t n) {
  prefetch(p, n, std::min<int64_t>(n, 4096 / sizeof(T)));
}

// Calls f for one short run of elements after the other, and before each of them asks for the next
// run of these arrays.
template <class F, class... T>
void in_runs(int64_t begin, int64_t end, const F& f, const T*... arrays) {
  constexpr int64_t run = 512 / std::max({sizeof(T)...});
  for (int64_t i = begin; i < end; i += run) {
    (prefetch(arrays, i + run, run), ...);
    f(i, std::min(end, i + run));
  }
}

// Prefetches a matrix (MatrixRef, gemm/gemm.h) in portions while products are computed: to read it
// alone would be to wait for memory.
//
//   Prefetcher next({b, n, 1}, depth, n, prefetches);
//   ... next.prefetch(); ...                           // as often as was said
class Prefetcher {
 public:
  Prefetcher() = default;
  template <class Matrix>
  Prefetcher(const Matrix& x, int64_t rows, int64_t columns, int64_t prefetches = 1)
      : run_(reinterpret_cast<const char*>(x.data)) {
    constexpr auto size = static_cast<int64_t>(sizeof(*x.data));
    const bool row_major = x.col_stride == 1;
    stride_ = size * (row_major ? x.row_stride : x.col_stride);
    length_ = size * (row_major ? columns : rows);
    runs_ = row_major ? rows : columns;
    complete_after(prefetches);
  }
  // The portions become such that so many calls of prefetch() ask for the whole matrix.
  void complete_after(int64_t prefetches) {
    portion_ = pieces(runs_ * pieces(length_, kLine), prefetches);
  }
  void prefetch() {
    for (int64_t i = 0; i < portion_ && runs_ > 0; ++i) {
      __builtin_prefetch(run_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < length_) continue;
      at_ = 0;
      run_ += stride_;
      --runs_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  const char* run_ = nullptr;
  int64_t stride_ = 0, length_ = 0, runs_ = 0, portion_ = 0, at_ = 0;
};

}  // namespace plimsoll
