// Product of a vector and a matrix that is stored as its transpose: what a dense layer does to one
// row, as in writing a text token by token. Every weight is read once and used once, so it takes as
// long as memory takes to deliver them: nothing is packed.
//
//   gemv(n, k, x, w, k, bias, y);      // y[n] = bias[n] + W x, with W [n, k] in rows
#pragma once

#include <cstdint>

namespace plimsoll {

// y[j] = start[j] + sum over i of x[i] w[j, i], for rows of w that are w_stride elements apart;
// without `start`, which may be y, the sums alone. T is what x, start and y are stored as, W what w
// is: both the same type, or T float and W a 16-bit one. 16-bit types are computed in f32 and
// rounded once. The bits are those of gemm() or, where T is BFloat16, of gemm_16_bit(), for any
// number of threads.
template <class T, class W>
void gemv(int64_t n, int64_t k, const T* x, const W* w, int64_t w_stride, const T* start, T* y);

}  // namespace plimsoll
