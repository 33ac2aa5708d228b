// A matrix that will be read next. Its lines come nearer bit by bit while products are computed: to
// read it alone would be to wait for memory.
//
//   Ahead next({b, n, 1}, depth, n, fetches);
//   ... next.fetch(); ...                              // as often as was said
#pragma once

#include "core/cpu/gemm/gemm.h"
#include "core/cpu/parallel.h"

namespace plimsoll {

class Ahead {
 public:
  Ahead() = default;
  template <class T>
  Ahead(const MatrixRef<T>& x, int64_t rows, int64_t columns, int64_t fetches = 1)
      : run_(reinterpret_cast<const char*>(x.data)) {
    constexpr auto size = static_cast<int64_t>(sizeof(T));
    const bool row_major = x.col_stride == 1;
    stride_ = size * (row_major ? x.row_stride : x.col_stride);
    length_ = size * (row_major ? columns : rows);
    runs_ = row_major ? rows : columns;
    complete_after(fetches);
  }
  // So many calls of fetch.
  void complete_after(int64_t fetches) {
    portion_ = pieces(runs_ * pieces(length_, kLine), fetches);
  }
  void fetch() {
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
