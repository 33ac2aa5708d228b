// Products of bfloat16 on the tile unit (tile_unit.h): the loops around multiply_tiles(). What is
// multiplied need not be a matrix in memory: operands and results are functions of what a block
// needs, so that a convolution gathers its windows on the way.
//
//   gemm_tiles(m, n, k, a, b, bias, c, n);   // C[m,n] = A[m,k] B[k,n] + bias
#pragma once

#include <algorithm>

#include "core/cpu/gemm/gemm.h"
#include "core/cpu/gemm/tile_unit.h"
#include "core/cpu/parallel.h"
#include "core/cpu/prefetch.h"
#include "core/cpu/shuffle.h"

namespace plimsoll {

// How rows of A become tiles: as they lie in memory, packed, or as they lie in a patch, such as an
// image, that TileMemory has room for and that serves `together` of them.
enum class TileLeft { in_place, packed, patch };

// A product of A [m, k] and B [k, n], and how C is cut into shares and the terms of each sum into
// passes: no sum depends on it. In 2 MiB lie the packed columns of B, 32 rows of A and, with
// several passes, the sums of a share.
struct TileCut {
  static constexpr int64_t kTerms = 1024, kColumns = 768;  // at most
  int64_t m, n, k;
  int64_t rows = 0, columns = 0, terms = 0;  // of a share, and of a pass
  int64_t down = 0, across = 0;              // shares; none of no sums
  TileCut(int64_t m, int64_t n, int64_t k, TileLeft left, int64_t together = kSumsAcross);
};

// A thread's memory, kept from call to call: the large page that gemm() packs its operands into.
// So what for_tiles() calls must multiply nothing itself.
struct TileMemory {
  static constexpr int64_t kPitch = TileCut::kTerms * 2 + 64;  // not all rows in one set of a cache
  static constexpr int64_t kPatch = 1000 * 1000;               // bytes
  uint32_t* right;
  std::byte* left;
  float* sums;
  uint32_t* turned;   // two tiles that lie the other way
  std::byte* patch;   // with TileLeft::patch, where sums would wait
  int64_t held = -1;  // which patch is there, of a share so far: left() sees to it
  static TileMemory of_thread();
};

// For all shares, on their threads:
//   right(column, columns, term, terms, strips);  // packs up to TileCut::kColumns columns, by 16,
//                                                 // as strips of tiles, with zeros
// and for all blocks of up to 32 x 32 sums:
//   left(row, rows, term, terms, memory);         // TileRows: these, with zeros up to 16 or 32
//                                                 // rows and to whole tiles of terms, in
//                                                 // memory.left, kPitch apart, or elsewhere
//   finish(row, rows, column, columns, sums);     // complete, in rows of kSumsAcross
template <class Left, class Right, class Finish>
void for_tiles(const TileCut& cut, const Left& left, const Right& right, const Finish& finish) {
  const auto share = [&](int64_t first_row, int64_t first_column) {
    TileMemory memory = TileMemory::of_thread();
    const int64_t last_row = std::min(cut.m, first_row + cut.rows);
    const int64_t last_column = std::min(cut.n, first_column + cut.columns);
    int64_t term = 0;
    do {  // without terms, too, C is written
      const int64_t terms = std::min(cut.terms, cut.k - term), depth = pieces(terms, kTileTerms);
      right(first_column, last_column - first_column, term, terms, memory.right);
      float* sums = memory.sums;
      for (int64_t i = first_row; i < last_row; i += kSumsAcross) {
        const int64_t rows = std::min(kSumsAcross, last_row - i);
        const TileRows a = left(i, rows, term, terms, memory);
        const uint32_t* b = memory.right;
        for (int64_t j = first_column; j < last_column; j += kSumsAcross) {
          const int64_t columns = std::min(kSumsAcross, last_column - j);
          const bool wide = columns > kTileLines;
          const auto multiply = rows > kTileLines
                                    ? (wide ? multiply_tiles<2, 2> : multiply_tiles<2, 1>)
                                    : (wide ? multiply_tiles<1, 2> : multiply_tiles<1, 1>);
          multiply(a, b, depth, term > 0, sums);
          if (term + terms == cut.k) finish(i, rows, j, columns, sums);
          b += 2 * depth * kTileWords;
          if (cut.terms < cut.k) sums += kSums;
        }
      }
      term += terms;
    } while (term < cut.k);
  };
  parallel_for(cut.down * cut.across, 1, [&](int64_t begin, int64_t end) {
    const TileUnit unit;
    for (int64_t i = begin; i < end; ++i)
      share(i / cut.across * cut.rows, i % cut.across * cut.columns);
  });
}

// Operands of for_tiles() that are matrices in memory, of bfloat16 or of f32, which is rounded.
// From a strip to the next are `strip` words.
template <class T>
TileRows tile_rows(const MatrixRef<T>& a, int64_t row, int64_t rows, int64_t term, int64_t terms,
                   std::byte* memory);
template <class T>
void pack_strips(const MatrixRef<T>& b, int64_t column, int64_t columns, int64_t term,
                 int64_t terms, uint32_t* strips, int64_t strip);

// A row of results: to[j] = sums[j] + add[j], or sums[j] where `add` is nullptr. What lies behind
// it is often written next.
template <class T, class C>
void store_sums(const float* sums, int64_t n, const T* add, C* to) {
  using V = Vector<float>;
  constexpr int64_t lanes = kLanes<float>;
  const auto at = [=](int64_t j) {
    const V sum = load<V>(sums + j);
    return add ? sum + load_as<V>(add + j) : sum;
  };
  prefetch_to_write(to, n, n);
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) store_two(to + j, at(j), at(j + lanes));
  if (j + lanes <= n) store_as(to + j, at(j)), j += lanes;
  for (; j < n; ++j) to[j] = narrow<C>(add ? sums[j] + static_cast<float>(add[j]) : sums[j]);
}

// C = A B, each row plus `bias` [n] where there is one, or C += A B, without a bias. A [m, k] and
// B [k, n] are of bfloat16 or of f32, which is rounded to it; C [m, n], whose rows are c_stride
// elements apart, is of either. The order of each sum depends on k alone.
template <class A, class B, class C>
void gemm_tiles(int64_t m, int64_t n, int64_t k, const MatrixRef<A>& a, const MatrixRef<B>& b,
                const BFloat16* bias, C* c, int64_t c_stride, Store store = Store::overwrite);

}  // namespace plimsoll
