// What the kernels of attention share: blocks of scores, scratch, rows of a head.
//
// A block holds the scores of kKeys keys with kQueries queries, [keys, queries]: what belongs to a
// query lies in a lane of its own. Maxima, sums and exponentials are then taken for whole vectors
// of queries, and nothing has to be combined across the lanes of a vector. Keys and values enter
// its products as they lie in memory; only queries, of which there are few, are transposed.
#pragma once

#include <algorithm>
#include <limits>

#include "core/cpu/by_columns.h"
#include "core/cpu/gemm/gemm.h"
#include "core/cpu/gemm/gemm_tiles.h"
#include "core/cpu/gemm/transpose.h"
#include "core/cpu/slots.h"
#include "ops/attention/attention/kernels.h"

namespace plimsoll::attention_detail {

// Blocks of scores stay in the first-level cache.
constexpr int64_t kQueries = 32;  // whole vectors, and whole panels of a matrix product
constexpr int64_t kKeys = 128;

// Queries i ... i + n - 1 and keys j ... j + m - 1. In memory a block has kQueries lanes, whatever
// n is: what the others hold is of no account.
struct Block {
  int64_t i, n, j, m;
};

// Of the largest block.
inline int64_t elements_of_block(const Sizes& sizes) {
  return std::min(kKeys, sizes.keys) * kQueries;
}
// Keys of a block that all its queries see: the first ones.
inline int64_t seen_by_all(const Sizes& sizes, const Block& block) {
  return std::clamp<int64_t>(sizes.seen(block.i) - block.j, 0, block.m);
}
// Lanes of a block that do not see key j: the first ones.
inline int64_t hidden_lanes(const Sizes& sizes, const Block& block, int64_t j) {
  return std::clamp<int64_t>(sizes.first_query(j) - block.i, 0, kQueries);
}
// Lanes of a block in whose window key j is: the first ones.
inline int64_t lanes_in_window(const Sizes& sizes, const Block& block, int64_t j) {
  return std::clamp<int64_t>(sizes.end_query(j) - block.i, 0, kQueries);
}

// Combines the scores [m, kQueries] of each lane, four keys at a time; `start` changes nothing. Key
// c is always in chain c % 4, so that keys that are hidden behind the others change no bit.
template <class C, class F>
void combine_keys(const C* s, int64_t m, C start, C* result, const F& combine) {
  by_columns<C>(kQueries, [&]<class V, int W>(int64_t l) {
    constexpr int kChains = 4;  // side by side: no key waits for the one before
    V found[kChains][W];
    const auto take = [&](int chain, int64_t c) __attribute__((always_inline)) {
      for (int w = 0; w < W; ++w)
        found[chain][w] = combine(found[chain][w], load_column<V>(s + c * kQueries + l, w));
    };
    for (auto& chain : found)
      for (V& v : chain) v = V{} + start;
    int64_t c = 0;
    for (; c + kChains <= m; c += kChains)
      for (int chain = 0; chain < kChains; ++chain) take(chain, c + chain);
#pragma GCC unroll 4
    for (int chain = 0; chain < kChains - 1; ++chain)
      if (c + chain < m) take(chain, c + chain);
    for (int w = 0; w < W; ++w)
      store_column(result + l, w,
                   combine(combine(found[0][w], found[1][w]), combine(found[2][w], found[3][w])));
  });
}

// Blocks of bfloat16 may be multiplied by tiles, as they are stored. All others are in the type
// that T is computed in, widened where they are not stored in it.
template <class T>
bool by_tiles() {
  return std::is_same_v<T, BFloat16> && bfloat16_products() == BFloat16Products::tiles;
}

// A matrix in both types; only the one that is multiplied is there.
template <class T>
struct Operand {
  MatrixRef<T> stored;
  MatrixRef<Compute<T>> wide;
};

// A product of an operand and one, or a matrix of what T is computed in. By tiles the latter, the
// weights and their gradients, are rounded to bfloat16.
template <class T, class A, class B>
void multiply_block(int64_t m, int64_t n, int64_t k, const A& a, const B& b, Compute<T>* c,
                    int64_t c_stride, Store store = Store::overwrite, Prefetcher next = {}) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (by_tiles<T>()) {
      const auto stored = [](const auto& x) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, Operand<T>>)
          return x.stored;
        else
          return x;
      };
      return gemm_tiles(m, n, k, stored(a), stored(b), nullptr, c, c_stride, store);
    }
  const auto wide = [](const auto& x) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, Operand<T>>)
      return x.wide;
    else
      return x;
  };
  gemm_unpacked<Compute<T>>(m, n, k, wide(a), wide(b), c, c_stride, store, next);
}

// n rows of D neighbouring elements, `stride` apart.
template <class T>
struct Rows {
  const T* data;
  int64_t stride;
  const Compute<T>* wide;
  int64_t wide_stride;
  Operand<T> matrix() const { return {{data, stride, 1}, {wide, wide_stride, 1}}; }      // [n, D]
  Operand<T> transposed() const { return {{data, 1, stride}, {wide, 1, wide_stride}}; }  // [D, n]
};

// Where the rows of batch b and head h of x [B, L, H, D] start, from row `first` on.
template <class T>
T* row_start(const View& x, int64_t b, int64_t h, int64_t first) {
  return x.as<T>() + b * x.strides[0] + first * x.strides[1] + h * x.strides[2];
}

// Those rows; where they have to be widened it is done into `wide` [n, D].
template <class T>
Rows<T> head_rows(const View& x, int64_t b, int64_t h, int64_t first, int64_t n, Compute<T>* wide) {
  const int64_t stride = x.strides[1], features = x.shape()[3];
  const T* from = row_start<T>(x, b, h, first);
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return {from, stride, from, stride};
  } else {
    for (int64_t r = 0; r < n && !by_tiles<T>(); ++r) {
#pragma omp simd
      for (int64_t d = 0; d < features; ++d)
        wide[r * features + d] = static_cast<Compute<T>>(from[r * stride + d]);
    }
    return {from, stride, wide, features};
  }
}

// Share number i of so many of the lines of n rows that will be read or written soon.
template <class T>
Prefetcher rows_ahead(const View& x, int64_t b, int64_t h, int64_t first, int64_t n, int64_t i = 0,
                      int64_t shares = 1) {
  if (n <= 0) return {};
  const int64_t begin = n * i / shares, end = n * (i + 1) / shares;
  const MatrixRef<T> rows{row_start<T>(x, b, h, first + begin), x.strides[1], 1};
  return {rows, end - begin, x.shape()[3]};
}

// Rows of n <= kQueries queries [n, D] as lanes: [D, kQueries], those of no query being 0, or by
// tiles [D, n].
template <class T>
Operand<T> lanes_of(const Rows<T>& rows, int64_t n, int64_t d, Compute<T>* lanes) {
  if (!by_tiles<T>()) {
    if (n < kQueries) std::fill_n(lanes, d * kQueries, Compute<T>(0));
    transpose(rows.wide, rows.wide_stride, n, d, lanes, kQueries);
  }
  return {rows.transposed().stored, {lanes, kQueries, 1}};
}
template <class T>
int64_t lanes_to_multiply(int64_t n) {
  return by_tiles<T>() ? n : kQueries;
}

// Takes pieces of a scratch area; with nullptr it only counts what they need.
class BumpAllocator {
 public:
  explicit BumpAllocator(std::byte* start) : start_(start) {}
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

// What an area needs, a struct that takes its pieces when it is made.
template <class Area>
int64_t area_bytes(const Sizes& sizes) {
  BumpAllocator scratch(nullptr);
  Area(scratch, sizes);
  return scratch.used();
}

}  // namespace plimsoll::attention_detail
