#include "core/cpu/gemm/gemm_tiles.h"

#include "core/cpu/gemm/micro_kernel.h"
#include "core/cpu/gemm/pieces.h"

namespace plimsoll {
namespace {

constexpr int64_t kTilePairs = kTileTerms / 2;
constexpr int64_t kTileRow = kTileLines * 4;                // bytes
constexpr int64_t kRightBytes = 384 * 2 * TileCut::kTerms;  // of packed columns

// A line of up to 32 terms as bfloat16.
void copy_terms(const BFloat16* from, int64_t n, BFloat16* to) {
  std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(n) * 2);
}
void copy_terms(const float* from, int64_t n, BFloat16* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = narrow<BFloat16>(from[i]);
}

// Up to 16 lines of up to 32 terms as a tile, with zeros for the rest: rows of a line each.
template <class T>
void copy_lines(const MatrixRef<T>& x, int64_t lines, int64_t terms, std::byte* to, int64_t pitch) {
  for (int64_t i = 0; i < kTileLines; ++i, to += pitch) {
    const int64_t n = i < lines ? terms : 0;
    if (n == kTileTerms) {
      copy_terms(x.data + i * x.row_stride, kTileTerms, reinterpret_cast<BFloat16*>(to));
    } else {
      std::memset(to, 0, kTileRow);
      copy_terms(x.data + i * x.row_stride, n, reinterpret_cast<BFloat16*>(to));
    }
  }
}

// The same as rows of a pair of terms each.
template <class T>
void interleave_terms(const MatrixRef<T>& x, int64_t lines, int64_t terms, uint32_t* to) {
  for (int64_t term = 0; term < kTileTerms; term += 2, to += kTileLines) {
    const T *const even = x.data + term * x.col_stride, *const odd = even + x.col_stride;
    auto* const pairs = reinterpret_cast<BFloat16Pair*>(to);
    if (lines == kTileLines && term + 1 < terms) {
      interleave(even, odd, kTileLines, pairs);
    } else {
      for (int64_t i = 0; i < kTileLines; ++i)
        pairs[i] = {i < lines && term < terms ? BFloat16(even[i]) : BFloat16(),
                    i < lines && term + 1 < terms ? BFloat16(odd[i]) : BFloat16()};
    }
  }
}

// The same for 32 lines and all 32 terms, as two tiles: in fewer instructions.
void interleave_two(const MatrixRef<BFloat16>& x, uint32_t* first, uint32_t* second) {
#if defined(__AVX512BW__)
  for (int64_t term = 0; term < kTileTerms; term += 2, first += kTileLines, second += kTileLines) {
    const auto even = load<Vector<uint16_t>>(x.data + term * x.col_stride);
    const auto odd = load<Vector<uint16_t>>(x.data + (term + 1) * x.col_stride);
    store(first,
          __builtin_shufflevector(even, odd, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39,
                                  8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47));
    store(second, __builtin_shufflevector(even, odd, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53,
                                          22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60,
                                          29, 61, 30, 62, 31, 63));
  }
#else
  interleave_terms(x, kTileLines, kTileTerms, first);
  interleave_terms<BFloat16>({x.data + kTileLines, x.row_stride, x.col_stride}, kTileLines,
                             kTileTerms, second);
#endif
}

}  // namespace

TileCut::TileCut(int64_t m, int64_t n, int64_t k, TileLeft left, int64_t together)
    : m(m), n(n), k(k) {
  if (m == 0 || n == 0) return;
  // Measured. Sums of one pass stay in registers; of several they wait in memory from one to the
  // next, and the larger a share, the less is packed again, which is much of the work where both
  // operands are packed. Rows of a patch cost nothing to use again.
  struct Most {
    int64_t rows, columns, terms;
  };
  const int64_t width = kRightBytes / (std::max(k, kTerms) * 2) / kSumsAcross * kSumsAcross;
  const Most most = left == TileLeft::patch      ? Most{1024, width, k}
                    : k <= kTerms                ? Most{1024, 384, kTerms}
                    : left == TileLeft::in_place ? Most{384, 384, kTerms}
                    : m <= 256                   ? Most{256, kColumns, 512}
                                                 : Most{512, 512, 512};
  const int64_t passes = k == 0 ? 1 : pieces(k, most.terms);
  terms = pieces(pieces(k, passes), kTileTerms) * kTileTerms;
  // Multiply-adds of the unit, in whole tiles, that take no longer than to wake a thread.
  constexpr int64_t kFew = 1 << 20;
  const int64_t work = std::max(m, kTileLines) * std::max(n, kTileLines) * k;
  const int64_t threads = work < kFew ? 1 : num_threads();
  const auto cut = [](int64_t size, int64_t longest, int64_t wanted, int64_t step) {
    const int64_t parts = std::max(pieces(size, longest), std::min(wanted, pieces(size, step)));
    return pieces(pieces(size, parts), step) * step;
  };
  // The longer side is cut for the threads first: the operand along the other one, which is packed
  // for each share again, is the smaller one.
  rows = cut(m, most.rows, m > n ? threads : pieces(threads, pieces(n, most.columns)), together);
  down = pieces(m, rows);
  columns = cut(n, most.columns, pieces(threads, down), kSumsAcross);
  across = pieces(n, columns);
}

TileMemory TileMemory::of_thread() {
  constexpr int64_t right_bytes = kRightBytes, left_bytes = kSumsAcross * kPitch,
                    sums_bytes = 512 * 512 * 4, turned_bytes = 2 * kTileWords * 4;
  static_assert(right_bytes >= TileCut::kColumns * 2 * 512);
  static_assert(sums_bytes >= 256 * TileCut::kColumns * 4 && sums_bytes >= kSums * 4 + kPatch);
  static_assert(right_bytes + left_bytes + sums_bytes + turned_bytes <= kLargePage);
  std::byte* const page = packed::page_of_thread();
  std::byte *const left = page + right_bytes, *const sums = left + left_bytes;
  return {reinterpret_cast<uint32_t*>(page), left, reinterpret_cast<float*>(sums),
          reinterpret_cast<uint32_t*>(sums + sums_bytes), sums + kSums * 4};
}

template <class T>
TileRows tile_rows(const MatrixRef<T>& a, int64_t row, int64_t rows, int64_t term, int64_t terms,
                   std::byte* memory) {
  const MatrixRef<T> x = part_of(a, row, term);
  if (std::is_same_v<T, BFloat16> && x.col_stride == 1 && terms % kTileTerms == 0 &&
      rows % kTileLines == 0)
    return {reinterpret_cast<const std::byte*>(x.data), x.row_stride * 2};
  uint32_t* const turned = TileMemory::of_thread().turned;
  const auto place = [&](int64_t i, int64_t t) { return memory + i * TileMemory::kPitch + t * 2; };
  const auto turn = [&](const uint32_t* by_pairs, std::byte* to) {
    transpose(by_pairs, kTileLines, kTilePairs, kTileLines, reinterpret_cast<uint32_t*>(to),
              TileMemory::kPitch / 4);
  };
  for (int64_t t = 0; t < terms; t += kTileTerms)
    for (int64_t i = 0; i < rows; i += kTileLines) {
      const MatrixRef<T> from = part_of(x, i, t);
      const int64_t lines = std::min(kTileLines, rows - i), n = std::min(kTileTerms, terms - t);
      if (x.col_stride == 1) {
        copy_lines(from, lines, n, place(i, t), TileMemory::kPitch);
        continue;
      }
      if constexpr (std::is_same_v<T, BFloat16>)
        if (rows - i == 2 * kTileLines && n == kTileTerms) {
          interleave_two(from, turned, turned + kTileWords);
          turn(turned, place(i, t));
          turn(turned + kTileWords, place(i + kTileLines, t));
          break;
        }
      interleave_terms(from, lines, n, turned);
      turn(turned, place(i, t));
    }
  return {memory, TileMemory::kPitch};
}

template <class T>
void pack_strips(const MatrixRef<T>& b, int64_t column, int64_t columns, int64_t term,
                 int64_t terms, uint32_t* strips, int64_t strip) {
  const int64_t depth = pieces(terms, kTileTerms);
  const auto pack = [&](int64_t j, int64_t tile) {
    const MatrixRef<T> x = part_of(b, term + tile * kTileTerms, column + j);
    const MatrixRef<T> lines{x.data, x.col_stride, x.row_stride};
    const int64_t width = columns - j, n = std::min(kTileTerms, terms - tile * kTileTerms);
    uint32_t* const to = strips + j / kTileLines * strip + tile * kTileWords;
    if (b.col_stride == 1) {
      if constexpr (std::is_same_v<T, BFloat16>)
        if (width >= 2 * kTileLines && n == kTileTerms) {
          interleave_two(lines, to, to + strip);
          return 2 * kTileLines;
        }
      interleave_terms(lines, std::min(width, kTileLines), n, to);
    } else {
      uint32_t* const turned = TileMemory::of_thread().turned;
      copy_lines(lines, std::min(width, kTileLines), n, reinterpret_cast<std::byte*>(turned),
                 kTileRow);
      transpose(turned, kTilePairs, kTileLines, kTilePairs, to, kTileLines);
    }
    return kTileLines;
  };
  // In the order in which b lies in memory.
  if (b.col_stride == 1)
    for (int64_t tile = 0; tile < depth; ++tile)
      for (int64_t j = 0; j < columns;) j += pack(j, tile);
  else
    for (int64_t j = 0; j < columns; j += kTileLines)
      for (int64_t tile = 0; tile < depth; ++tile) pack(j, tile);
}

template <class A, class B, class C>
void gemm_tiles(int64_t m, int64_t n, int64_t k, const MatrixRef<A>& a, const MatrixRef<B>& b,
                const BFloat16* bias, C* c, int64_t c_stride, Store store) {
  for_tiles(
      {m, n, k,
       std::is_same_v<A, BFloat16> && a.col_stride == 1 ? TileLeft::in_place : TileLeft::packed},
      [&](int64_t row, int64_t rows, int64_t term, int64_t terms, const TileMemory& memory) {
        return tile_rows(a, row, rows, term, terms, memory.left);
      },
      [&](int64_t column, int64_t columns, int64_t term, int64_t terms, uint32_t* strips) {
        pack_strips(b, column, columns, term, terms, strips,
                    pieces(terms, kTileTerms) * kTileWords);
      },
      [&](int64_t row, int64_t rows, int64_t column, int64_t columns, const float* sums) {
        for (int64_t i = 0; i < rows; ++i) {
          C* const to = c + (row + i) * c_stride + column;
          if (store == Store::overwrite)
            store_sums(sums + i * kSumsAcross, columns, bias ? bias + column : nullptr, to);
          else
            store_sums(sums + i * kSumsAcross, columns, to, to);
        }
      });
}

#define PLIMSOLL_GEMM(A, B, C)                                                                  \
  template void gemm_tiles(int64_t, int64_t, int64_t, const MatrixRef<A>&, const MatrixRef<B>&, \
                           const BFloat16*, C*, int64_t, Store);
PLIMSOLL_GEMM(BFloat16, BFloat16, BFloat16)
PLIMSOLL_GEMM(BFloat16, BFloat16, float)
PLIMSOLL_GEMM(float, BFloat16, BFloat16)
PLIMSOLL_GEMM(BFloat16, float, float)
PLIMSOLL_GEMM(float, BFloat16, float)
PLIMSOLL_GEMM(float, float, float)
#undef PLIMSOLL_GEMM
template TileRows tile_rows(const MatrixRef<BFloat16>&, int64_t, int64_t, int64_t, int64_t,
                            std::byte*);
template void pack_strips(const MatrixRef<BFloat16>&, int64_t, int64_t, int64_t, int64_t, uint32_t*,
                          int64_t);

}  // namespace plimsoll
