#include "core/cpu/gemm/gemm16.h"

#include "core/cpu/gemm/gemm_tiles.h"
#include "core/cpu/gemm/gemv.h"
#include "core/cpu/gemm/pieces.h"

namespace plimsoll {
namespace {

constexpr int64_t kTerms = 512;  // of a piece that is widened

GemmPieces pieces_of(int64_t m, int64_t n, int64_t k) {
  return {std::min<int64_t>(m, 512), std::min<int64_t>(n, 2048), std::min(k, kTerms)};
}

}  // namespace

int64_t gemm_16_bit_bytes(DType dtype, int64_t m, int64_t n, int64_t k) {
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  return pieces_of(m, n, k).bytes(2);
}

template <class A, class B, class C>
void gemm_16_bit(int64_t m, int64_t n, int64_t k, MatrixRef<A> a, MatrixRef<B> b, const B* bias,
                 C* c, std::byte* scratch) {
  if constexpr (std::is_same_v<A, B> && std::is_same_v<B, C>)
    if (m == 1 && a.col_stride == 1 && b.row_stride == 1)  // needs no f32 copies
      return gemv(n, k, a.data, b.data, b.col_stride, bias, c);
  if constexpr (std::is_same_v<B, BFloat16>)
    if (bfloat16_products() == BFloat16Products::tiles)
      return gemm_tiles(m, n, k, a, b, bias, c, n);
  GemmPieces pieces = pieces_of(m, n, k);
  if constexpr (std::is_same_v<A, BFloat16> && std::is_same_v<B, BFloat16>)
    if (bfloat16_products() == BFloat16Products::dot) {
      pieces.terms = std::min(k, 2 * kTerms);
      const auto left = [&](int64_t row, int64_t rows, int64_t term, int64_t terms,
                            BFloat16Pair* to) {
        return pair_rows(part_of(a, row, term), rows, terms, to);
      };
      const auto right = [&](int64_t term, int64_t terms, int64_t column, int64_t columns,
                             BFloat16Pair* to) {
        return pair_columns(part_of(b, term, column), terms, columns, to);
      };
      return multiply_pieces<BFloat16Pair>(m, n, k, left, right, bias, c, scratch, pieces);
    }
  const auto left = [&](int64_t row, int64_t rows, int64_t term, int64_t terms, float* to) {
    return widen_piece(part_of(a, row, term), rows, terms, to);
  };
  const auto right = [&](int64_t term, int64_t terms, int64_t column, int64_t columns, float* to) {
    return widen_piece(part_of(b, term, column), terms, columns, to);
  };
  multiply_pieces<float>(m, n, k, left, right, bias, c, scratch, pieces);
}

#define PLIMSOLL_GEMM(A, B, C)                                                              \
  template void gemm_16_bit<A, B, C>(int64_t, int64_t, int64_t, MatrixRef<A>, MatrixRef<B>, \
                                     const B*, C*, std::byte*);
PLIMSOLL_GEMM(Half, Half, Half)
PLIMSOLL_GEMM(Half, Half, float)
PLIMSOLL_GEMM(float, Half, Half)
PLIMSOLL_GEMM(BFloat16, BFloat16, BFloat16)
PLIMSOLL_GEMM(BFloat16, BFloat16, float)
PLIMSOLL_GEMM(float, BFloat16, BFloat16)
#undef PLIMSOLL_GEMM

}  // namespace plimsoll
