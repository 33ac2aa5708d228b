// Matrix product on the CPU: operands packed block by block, sums kept in vector registers.
//
//   gemm<float>(m, n, k, {a, k, 1}, {b, n, 1}, c, n);       // C[m,n] = A[m,k] B[k,n], row-major
//   gemm<float>(m, n, k, {a, 1, m}, {b, n, 1}, c, n);       // A is stored as its transpose
#pragma once

#include <cstdint>

#include "core/cpu/gemm/bfloat16_dot.h"
#include "core/cpu/prefetch.h"

namespace plimsoll {

// A matrix to read: one of the two strides (in elements) must be 1.
template <class T>
struct MatrixRef {
  const T* data;
  int64_t row_stride, col_stride;
};

enum class Store { overwrite, accumulate };

// C = A B, or C += A B; C is row-major with rows c_stride elements apart, and not in A or B. T is
// float or double, or BFloat16Pair: then k counts pairs, and C is of float. The order of each sum
// depends on k alone, so the bits do not depend on the number of threads.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, Accumulator<T>* c,
          int64_t c_stride, Store store = Store::overwrite);

// The same, to the bit, on the calling thread alone and for operands that are near already, such as
// a kernel's own blocks: they are read where they lie, and only columns of B that are no whole
// vectors are packed. Meanwhile `next` is prefetched.
template <class T>
void gemm_unpacked(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b,
                   Accumulator<T>* c, int64_t c_stride, Store store = Store::overwrite,
                   Prefetcher next = {});

}  // namespace plimsoll
