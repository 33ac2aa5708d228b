#include "core/cpu/gemm/gemv.h"

#include "core/base/dtype.h"
#include "core/cpu/gemm/gemm_tiles.h"
#include "core/cpu/gemm/micro_kernel.h"
#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

using packed::kKC;

// A vector has a lane for each row of w, so that a sum is taken in the order of its terms, as in
// gemm(): squares of w are turned around in registers, which takes less time than to read them.
// kInPairs: bfloat16 by its own instruction, as gemm<BFloat16Pair>() adds it up.
template <class T, class W, bool kInPairs>
class RowSums {
  using C = Compute<T>;
  using V = Vector<C>;
  using Words = Vector<uint32_t>;
  static constexpr int64_t kRows = kLanes<C>;
  static constexpr int64_t kTogether = sizeof(C) / sizeof(W);  // 16-bit ones are moved in pairs
  static constexpr int64_t kSquare = kRows * kTogether;        // terms of a square
  static constexpr int64_t kBlock = kInPairs ? 2 * kKC : kKC;  // terms added up apart

 public:
  RowSums(const T* x, const W* w, int64_t stride) : x_(x), w_(w), stride_(stride) {}

  // The sums of rows first ... first + rows - 1, of at most kRows, onto those that are given.
  V add(int64_t first, int64_t rows, int64_t k, V sums, bool onto) const {
    for (int64_t term = 0; term < k; term += kBlock, onto = true) {
      const V block =
          block_sums(w_ + first * stride_ + term, rows, x_ + term, std::min(kBlock, k - term));
      sums = onto ? sums + block : block;
    }
    return sums;
  }

 private:
  // Of at most kBlock terms.
  V block_sums(const W* w, int64_t rows, const T* x, int64_t terms) const {
    C wide[std::is_same_v<T, C> || kInPairs ? 1 : kBlock];
    const C* factors = nullptr;
    if constexpr (!kInPairs) factors = widened(x, terms, wide);
    const int64_t last = rows - 1;
    V sums = {};
    int64_t t = 0;
    for (; t + kSquare <= terms; t += kSquare) {
      V columns[kRows];
      if (rows == kRows)
        load_square(
            w + t, [&](int64_t row) { return row * stride_; }, columns);
      else
        load_square(
            w + t, [&](int64_t row) { return std::min(row, last) * stride_; }, columns);
      exchange_halves<C, kRows / 2>(columns, std::make_index_sequence<kRows>());
#pragma GCC unroll 16
      for (int64_t i = 0; i < kRows; ++i) {
        const int64_t term = t + i * kTogether;
        if constexpr (kInPairs) {
          add_product(sums, pair_at(x + term, 2), reinterpret_cast<Words>(columns[i]));
        } else if constexpr (kTogether == 1) {
          sums += factors[term] * columns[i];
        } else {
          const auto bits = reinterpret_cast<Words>(columns[i]);
          sums += factors[term] * widened(bits & 0xffff);
          sums += factors[term + 1] * widened(bits >> 16);
        }
      }
    }
    for (; t < terms; t += kInPairs ? 2 : 1) {
      if constexpr (kInPairs) {
        Words column = {};
        for (int64_t row = 0; row < rows; ++row)
          column[row] = std::bit_cast<uint32_t>(pair_at(w + row * stride_ + t, terms - t));
        add_product(sums, pair_at(x + t, terms - t), column);
      } else {
        V column = {};
        for (int64_t row = 0; row < rows; ++row) column[row] = load_as<C>(w + row * stride_ + t);
        sums += factors[t] * column;
      }
    }
    return sums;
  }

  // Meanwhile the same square of the next rows is asked for: a processor follows few of so many
  // streams by itself.
  template <class Place>
  [[gnu::always_inline]] void load_square(const W* w, const Place& place, V* rows) const {
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows; ++i) {
      rows[i] = load<V>(w + place(i));
      __builtin_prefetch(w + (i + kRows) * stride_, 0, 2);
    }
  }

  // The last of an odd number of terms has a zero beside it.
  static BFloat16Pair pair_at(const BFloat16* terms, int64_t left) {
    return {terms[0], left > 1 ? terms[1] : BFloat16()};
  }

  // Each word has the 16 bits of a number.
  static V widened(Words bits) {
    if constexpr (std::is_same_v<W, Half>)
      return float_of_half<V>(bits);
    else
      return float_of_bfloat16<V>(bits);
  }
  static const C* widened(const T* x, int64_t n, [[maybe_unused]] C* to) {
    if constexpr (std::is_same_v<T, C>) {
      return x;
    } else {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(x[i]);
      return to;
    }
  }

  const T* x_;
  const W* w_;
  int64_t stride_;
};

template <bool kInPairs, class T, class W>
void multiply(int64_t n, int64_t k, const T* x, const W* w, int64_t w_stride, const T* start,
              T* y) {
  using C = Compute<T>;
  constexpr int64_t rows = kLanes<C>;
  const RowSums<T, W, kInPairs> sums(x, w, w_stride);
  parallel_for(pieces(n, rows), grain_for(rows * k), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * rows; j < std::min(n, end * rows); j += rows) {
      const int64_t count = std::min(rows, n - j);
      Vector<C> result = {};
      if (start)
        for (int64_t i = 0; i < count; ++i) result[i] = load_as<C>(start + j + i);
      result = sums.add(j, count, k, result, start != nullptr);
      if (count == rows)
        store_as(y + j, result);
      else
        for (int64_t i = 0; i < count; ++i) y[j + i] = narrow<T>(result[i]);
    }
  });
}

// w, whose rows are tiles as they lie there, times x as a matrix of one column.
void multiply_by_tiles(int64_t n, int64_t k, const BFloat16* x, const BFloat16* w, int64_t w_stride,
                       const BFloat16* start, BFloat16* y) {
  const MatrixRef<BFloat16> rows{w, w_stride, 1}, column{x, 1, 1};
  for_tiles(
      {n, 1, k, TileLeft::in_place},
      [&](int64_t row, int64_t count, int64_t term, int64_t terms, const TileMemory& memory) {
        return tile_rows(rows, row, count, term, terms, memory.left);
      },
      [&](int64_t, int64_t columns, int64_t term, int64_t terms, uint32_t* strips) {
        pack_strips(column, 0, columns, term, terms, strips,
                    pieces(terms, kTileTerms) * kTileWords);
      },
      [&](int64_t row, int64_t count, int64_t, int64_t, const float* sums) {
        for (int64_t i = 0; i < count; ++i) {
          const float sum = sums[i * kSumsAcross];
          y[row + i] = BFloat16(start ? sum + static_cast<float>(start[row + i]) : sum);
        }
      });
}

}  // namespace

template <class T, class W>
void gemv(int64_t n, int64_t k, const T* x, const W* w, int64_t w_stride, const T* start, T* y) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const BFloat16Products products = bfloat16_products();
    if (products == BFloat16Products::tiles)
      return multiply_by_tiles(n, k, x, w, w_stride, start, y);
    if (products == BFloat16Products::dot) return multiply<true>(n, k, x, w, w_stride, start, y);
  }
  multiply<false>(n, k, x, w, w_stride, start, y);
}

template void gemv(int64_t, int64_t, const float*, const float*, int64_t, const float*, float*);
template void gemv(int64_t, int64_t, const double*, const double*, int64_t, const double*, double*);
template void gemv(int64_t, int64_t, const Half*, const Half*, int64_t, const Half*, Half*);
template void gemv(int64_t, int64_t, const BFloat16*, const BFloat16*, int64_t, const BFloat16*,
                   BFloat16*);
template void gemv(int64_t, int64_t, const float*, const Half*, int64_t, const float*, float*);
template void gemv(int64_t, int64_t, const float*, const BFloat16*, int64_t, const float*, float*);

}  // namespace plimsoll
