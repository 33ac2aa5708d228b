#include "core/cpu/gemm/gemm16.h"

#include "core/cpu/gemm/gemv.h"
#include "core/cpu/gemm/pieces.h"

namespace plimsoll {
namespace {

GemmPieces pieces_of(int64_t m, int64_t n, int64_t k) {
  return {std::min<int64_t>(m, 512), std::min<int64_t>(n, 2048), std::min<int64_t>(k, 512)};
}

}  // namespace

int64_t gemm_16_bit_bytes(DType dtype, int64_t m, int64_t n, int64_t k) {
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  return pieces_of(m, n, k).bytes(2);
}

template <class T>
void gemm_16_bit(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, const T* bias,
                 T* c, std::byte* scratch) {
  if (m == 1 && a.col_stride == 1 && b.row_stride == 1)  // needs no f32 copies
    return gemv(n, k, a.data, b.data, b.col_stride, bias, c);
  const auto right = [&](int64_t term, int64_t terms, int64_t column, int64_t columns, float* to) {
    return widen_piece(part_of(b, term, column), terms, columns, to);
  };
  multiply_pieces<T>(m, n, k, a, right, bias, c, scratch, pieces_of(m, n, k));
}

template void gemm_16_bit<Half>(int64_t, int64_t, int64_t, MatrixRef<Half>, MatrixRef<Half>,
                                const Half*, Half*, std::byte*);
template void gemm_16_bit<BFloat16>(int64_t, int64_t, int64_t, MatrixRef<BFloat16>,
                                    MatrixRef<BFloat16>, const BFloat16*, BFloat16*, std::byte*);

}  // namespace plimsoll
