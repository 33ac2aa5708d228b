// A matrix that will be packed next. Its lines come nearer bit by bit while products are computed:
// packing alone would wait for memory.
//
//   Ahead<float> next({b, n, 1}, depth, n, fetches);
//   ... next.fetch(); ...                              // as often as was said
#pragma once

#include "core/cpu/gemm.h"
#include "core/cpu/parallel.h"

namespace plimsoll {

template <class T>
class Ahead {
 public:
  Ahead() = default;
  // To be complete after `fetches` calls of fetch.
  Ahead(const MatrixRef<T>& x, int64_t rows, int64_t columns, int64_t fetches) : run_(x.data) {
    const bool row_major = x.col_stride == 1;
    stride_ = row_major ? x.row_stride : x.col_stride;
    length_ = row_major ? columns : rows;
    runs_ = row_major ? rows : columns;
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
  static constexpr int64_t kLine = 64 / sizeof(T);
  const T* run_ = nullptr;
  int64_t stride_ = 0, length_ = 0, runs_ = 0, portion_ = 0, at_ = 0;
};

}  // namespace plimsoll
