// Matrix products on the device, for kernels that are made of them: matmul, linear,
// linear_cross_entropy.
//
//   product({.m = rows, .n = outputs, .k = inputs, .a = {x.data, x.dtype(), inputs, 1},
//            .b = {w.data, w.dtype(), 1, inputs}, .c = {y.data, y.dtype(), outputs, 1}},
//           call.workspace);
//
// Sums are made in f32, in f64 for f64, in an order that depends on the sizes alone.
#pragma once

#include "core/tensor/value.h"

namespace plimsoll::cuda {

// Element (i, j) of matrix 0 is number i row + j column; the others of a batch lie `batch` apart
// along each of its axes, 0 where they repeat.
struct Matrices {
  void* data = nullptr;
  DType dtype = DType::f32;
  int64_t row = 0, column = 0;
  Strides batch = {};
};

// c[i, j] = sum_k a[i, k] b[k, j] + bias[j], for every matrix of the batch.
struct Product {
  Shape batch = {};
  int64_t m = 0, n = 0, k = 0;
  Matrices a, b, c;            // those of c are dense, one behind another
  const View* bias = nullptr;  // [n]
  bool accumulate = false;     // adds to what c holds
};

// Workspace of product(), for cuBLAS: the kernel that takes its place needs none. It is bounded by
// the size of the product alone, so that plans are the same whether cuBLAS is there or not: 32 MiB,
// as its makers advise, for large ones.
inline int64_t product_bytes(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const double terms = static_cast<double>(batch * m) * static_cast<double>(n * k);
  return terms < 1e6 ? 0 : (terms < 1e9 ? int64_t{1} << 20 : int64_t{32} << 20);
}

// By cuBLAS where it is there and takes such operands, else by a kernel of this engine. f32 is not
// rounded to TF32 unless PLIMSOLL_TF32=1.
void product(const Product& product, std::span<std::byte> workspace);

// By cuBLAS alone, by the algorithm that its heuristic prefers; false: not by it. Null where the
// build has no vendor's libraries.
[[gnu::weak]] bool product_by_library(const Product& product, std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
