// Matrix product of 16-bit operands, added up in f32 and rounded once. They pass piece by piece
// through f32 or, where the processor multiplies bfloat16 itself, through pairs (bfloat16_dot.h) or
// tiles (gemm_tiles.h): the scratch is 9 MB at most, however large they are.
//
//   gemm_16_bit<Half, Half>(m, n, k, {a, k, 1}, {b, n, 1}, nullptr, c, call.workspace.data());
#pragma once

#include <cstddef>

#include "core/base/dtype.h"
#include "core/cpu/gemm/gemm.h"
#include "core/cpu/parallel.h"

namespace plimsoll {

// Bytes of scratch; 0 for f32 and f64, which need no copies.
int64_t gemm_16_bit_bytes(DType dtype, int64_t m, int64_t n, int64_t k);

// C = A B, each row plus `bias` [n] where there is one. C is dense, [m, n]. The elements of B are
// Half or BFloat16, those of A and of C too, or of one of the two float. The bits are those of
// gemm<float>() on the operands in f32 or, where bfloat16_products() says so, of gemm_tiles() and,
// if both are bfloat16, of gemm<BFloat16Pair>().
template <class A, class B, class C>
void gemm_16_bit(int64_t m, int64_t n, int64_t k, MatrixRef<A> a, MatrixRef<B> b, const B* bias,
                 C* c, std::byte* scratch);

// The same for every floating type, f32 and f64 as they are.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, const T* bias, T* c,
              std::byte* scratch) {
  if constexpr (is_16_bit<T>) {
    gemm_16_bit<T, T>(m, n, k, a, b, bias, c, scratch);
  } else {
    // The product is added onto rows that hold the bias already: no further pass over c.
    if (bias)
      parallel_for(m, grain_for(n), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) std::copy_n(bias, n, c + row * n);
      });
    gemm<T>(m, n, k, a, b, c, n, bias ? Store::accumulate : Store::overwrite);
  }
}

}  // namespace plimsoll
