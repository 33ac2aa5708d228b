// Products of a kernel's own blocks, which lie near already.
//
//   gemm_near<float>(m, n, k, {k_rows, stride, 1}, {q, 32, 1}, scores, 32, Store::overwrite, next);
#pragma once

#include "core/cpu/gemm/prefetch.h"

namespace plimsoll {

// gemm(), to the bit, on the calling thread alone and with operands read where they lie; only
// columns of B that are no whole vectors are packed. Meanwhile what lies ahead comes nearer.
template <class T>
void gemm_near(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c,
               int64_t c_stride, Store store = Store::overwrite, Ahead ahead = {});

}  // namespace plimsoll
