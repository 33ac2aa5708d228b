// Matrix products on the device, for kernels that are made of them: matmul, linear,
// linear_cross_entropy.
//
//   product({.m = rows, .n = outputs, .k = inputs, .a = {x.data, x.dtype(), inputs, 1},
//            .b = {w.data, w.dtype(), 1, inputs}, .c = {y.data, y.dtype(), outputs, 1}},
//           call.workspace);
//
// Sums are made in f32, in f64 for f64, in an order that depends on sizes, strides and whether
// operands begin on boundaries of 16 bytes. Where what is left of k is a product by itself, its sum
// is rounded to c's type before the other is added.
#pragma once

#include <algorithm>

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
  Matrices a, b, c;            // c.column is 1; those of c lie m * c.row apart
  const View* bias = nullptr;  // [n]
  bool accumulate = false;     // adds to what c holds
};

// Tensor cores want rows of 16 bits to begin on a boundary of 16 bytes.
constexpr int64_t kAligned = 8;  // elements
constexpr int64_t up_to_aligned(int64_t n) { return (n + kAligned - 1) / kAligned * kAligned; }

constexpr int64_t kLibraryBytes = int64_t{32} << 20;  // as the makers of cuBLAS advise
constexpr double terms_of(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return static_cast<double>(batch * m) * static_cast<double>(n * k);
}
constexpr bool is_large(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return terms_of(batch, m, n, k) >= 1e9;
}

// Whether cutting such a product is of use: to nearly nothing of a size there is nothing left.
constexpr bool cuts(int64_t m, int64_t n, int64_t k) { return std::min({m, n, k}) > kAligned; }

// Room for pieces of the operand whose rows may have to be padded.
constexpr int64_t padded_bytes(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k,
                               bool pads_a) {
  constexpr int64_t kFewest = int64_t{64} << 20, kMostPieces = 16;
  if ((dtype != DType::f16 && dtype != DType::bf16) || batch != 1 || !cuts(m, n, k)) return 0;
  const bool odd_a = pads_a && (m % kAligned != 0 || k % kAligned != 0);
  const int64_t of_a = odd_a ? up_to_aligned(m) * up_to_aligned(k) : 0;
  const int64_t of_c = n % kAligned ? m * up_to_aligned(n) : 0, most = 2 * std::max(of_a, of_c);
  return std::min(most, std::max(kFewest, most / kMostPieces));
}

// Workspace of product(). It is bounded by the type and the size of the product alone, so that
// plans are the same whether cuBLAS is there or not. pads_a: false where rows of a are as long as
// those of b, so that either needs no padding or none is possible.
constexpr int64_t product_bytes(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k,
                                bool pads_a = true) {
  if (is_large(batch, m, n, k)) return kLibraryBytes + padded_bytes(dtype, batch, m, n, k, pads_a);
  return terms_of(batch, m, n, k) < 1e6 ? 0 : int64_t{1} << 20;
}

// By cuBLAS where it is there and takes such operands, else by a kernel of this engine. f32 is not
// rounded to TF32 unless PLIMSOLL_TF32=1. A large product of 16 bits whose sizes are no multiples
// of 8, as with 50257 logits, is cut so that nearly all of it is one of such sizes, and an a or c
// whose rows do not begin on boundaries passes, a piece after another, through rows that do.
void product(const Product& product, std::span<std::byte> workspace);

// By cuBLAS alone, by the algorithm that its heuristic prefers; false: not by it. Null where the
// build has no vendor's libraries.
[[gnu::weak]] bool product_by_library(const Product& product, std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
