// Matrix products on the device, for kernels that are made of them: matmul, linear,
// linear_cross_entropy.
//
//   product({.m = rows, .n = outputs, .k = inputs, .a = {x.data, x.dtype(), inputs, 1},
//            .b = {w.data, w.dtype(), 1, inputs}, .c = {y.data, y.dtype(), outputs, 1}},
//           call.workspace);
//
// Sums are made in f32, in f64 for f64, in an order that depends on the sizes alone.
#pragma once

#include <algorithm>

#include "core/value.h"

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

// How a product is cut. Where its tiles are too few to keep a large GPU busy, long sums are cut
// too; their parts are kept in the workspace and added in order.
struct ProductCut {
  static constexpr int64_t kTile = 64, kEnough = 264, kLongest = 512;
  int64_t rows, columns, splits, depth;  // tiles of a matrix; parts of a sum, of `depth` terms

  ProductCut(int64_t batch, int64_t m, int64_t n, int64_t k)
      : rows((m + kTile - 1) / kTile), columns((n + kTile - 1) / kTile) {
    const int64_t tiles = std::max<int64_t>(1, batch * rows * columns);
    splits = std::max<int64_t>(1, std::min(kEnough / tiles, k / kLongest));
    depth = (k + splits - 1) / splits;
  }
};

// Workspace of a product computed by run_product() (product.cuh) from elements of this type.
inline int64_t own_product_bytes(int64_t batch, int64_t m, int64_t n, int64_t k, DType dtype) {
  const int64_t splits = ProductCut(batch, m, n, k).splits;
  return splits == 1 ? 0 : splits * batch * m * n * (dtype == DType::f64 ? 8 : 4);
}

// Workspace of product(). What cuBLAS may use is bounded by the size of the product alone, so that
// plans are the same whether it is there or not: 32 MiB, as its makers advise, for large ones.
inline int64_t product_bytes(int64_t batch, int64_t m, int64_t n, int64_t k, DType dtype) {
  const double terms = static_cast<double>(batch * m) * static_cast<double>(n * k);
  const int64_t library = terms < 1e6 ? 0 : (terms < 1e9 ? int64_t{1} << 20 : int64_t{32} << 20);
  return std::max(library, own_product_bytes(batch, m, n, k, dtype));
}

// By cuBLAS where it is there and takes such operands, else by a kernel of this engine. f32 is not
// rounded to TF32 unless PLIMSOLL_TF32=1.
void product(const Product& product, std::span<std::byte> workspace);

// By cuBLAS alone, by the algorithm that its heuristic prefers; false: not by it. Null where the
// build has no vendor's libraries.
[[gnu::weak]] bool product_by_library(const Product& product, std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
