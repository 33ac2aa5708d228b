// What the forward and the backward kernel of attention share: block sizes, scratch, rows of a
// head.
#pragma once

#include <limits>

#include "core/cpu/gemm.h"
#include "core/cpu/slots.h"
#include "core/cpu/transpose.h"
#include "ops/attention/kernels.h"

namespace plimsoll::attention_detail {

// Blocks of scores stay in the second-level cache, and are large enough for the matrix product to
// earn back the packing of its operands.
constexpr int64_t kQueries = 32;
constexpr int64_t kKeys = 128;
// From row to row of a block of scores, and of the columns of its keys or values: longer than
// kKeys, so that rows lie in different sets of the cache.
constexpr int64_t kKeyPitch = kKeys + 16;

// n rounded up to whole vectors: loops over rows of scores do better with some elements more than
// with a rest that is no vector.
template <class C>
int64_t whole_vectors(int64_t n) {
  return (n + kLanes<C> - 1) / kLanes<C> * kLanes<C>;
}

// n rows of D neighbouring elements, `stride` apart.
template <class C>
struct Rows {
  const C* data;
  int64_t stride;
  MatrixRef<C> matrix() const { return {data, stride, 1}; }      // [n, D]
  MatrixRef<C> transposed() const { return {data, 1, stride}; }  // [D, n]
};

// Where the rows of batch b and head h of x [B, L, H, D] start, from row `first` on.
template <class T>
T* row_start(const View& x, int64_t b, int64_t h, int64_t first) {
  return x.as<T>() + b * x.strides[0] + first * x.strides[1] + h * x.strides[2];
}

// Those rows as they lie in memory, or 16-bit ones widened into `wide` [n, D].
template <class T>
Rows<Compute<T>> head_rows(const View& x, int64_t b, int64_t h, int64_t first, int64_t n,
                           Compute<T>* wide) {
  const T* from = row_start<T>(x, b, h, first);
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return {from, x.strides[1]};
  } else {
    const int64_t features = x.shape()[3];
    for (int64_t r = 0; r < n; ++r) {
#pragma omp simd
      for (int64_t d = 0; d < features; ++d)
        wide[r * features + d] = static_cast<Compute<T>>(from[r * x.strides[1] + d]);
    }
    return {wide, features};
  }
}

// The columns of `rows` [n, d] as rows of kKeyPitch elements: transposed once for many products.
template <class C>
MatrixRef<C> columns_of(const Rows<C>& rows, int64_t n, int64_t d, C* scratch) {
  transpose(rows.data, rows.stride, n, d, scratch, kKeyPitch);
  return {scratch, kKeyPitch, 1};
}

// Takes pieces of a scratch area; with nullptr it only counts what they need.
class Scratch {
 public:
  explicit Scratch(std::byte* start) : start_(start) {}
  template <class C>
  C* take(int64_t n) {
    std::byte* piece = start_ ? start_ + used_ : nullptr;
    used_ += block_bytes(n * static_cast<int64_t>(sizeof(C)));
    return reinterpret_cast<C*>(piece);
  }
  int64_t used() const { return used_; }

 private:
  std::byte* start_;
  int64_t used_ = 0;
};

}  // namespace plimsoll::attention_detail
