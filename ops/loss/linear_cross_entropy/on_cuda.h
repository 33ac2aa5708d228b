// What the op of linear_cross_entropy and its kernels on a GPU share: attributes, and scratch.
#pragma once

#include <algorithm>

#include "core/cuda/product.h"
#include "core/engine/op.h"
#include "ops/loss/cross_entropy/attrs.h"

namespace plimsoll::linear_cross_entropy_detail {

struct FusedAttrs {
  CrossEntropyAttrs loss;
  bool has_bias, has_weight;
  Bits wanted = 0;  // the gradients that are: of inputs 0, 1 and 3
  bool operator==(const FusedAttrs&) const = default;
};
constexpr int kX = 0, kW = 1, kLabels = 2, kBias = 3;

// The workspace on a GPU. Chunks of rows are larger than on a CPU: products want many tiles, and
// each chunk reads and writes all of dw. The gradient of the logits is rounded to the type of x and
// w, as linear's would be: cuBLAS multiplies operands of one type. In that of f32 and f64 it lies
// where the logits were.
struct CudaScratch {
  static constexpr int64_t kLogits = int64_t{1} << 25, kFewestRows = 256;
  int64_t rows, inputs, classes, chunk;
  int64_t pitch;                                // of logits and d: their rows begin on boundaries
  int64_t logits, d, bias, dw, product, bytes;  // where each begins, behind the doubles; the end

  // Doubles: a loss for each row; for the gradients the divisor and a sum for each class.
  CudaScratch(const Meta& x, const Shape& w, const Shape& labels, bool gradients)
      : rows(count(labels)),
        inputs(w[1]),
        classes(w[0]),
        chunk(std::min(rows,
                       std::max<int64_t>(1, kLogits / std::max<int64_t>(1, classes) / kFewestRows) *
                           kFewestRows)),
        pitch(cuda::up_to_aligned(classes)) {
    const int64_t own = size_of(x.dtype), wide = x.dtype == DType::f64 ? 8 : 4;
    logits = block_bytes((gradients ? 1 + classes : rows) * 8);
    d = own < wide ? logits + block_bytes(chunk * pitch * wide) : logits;
    bias = d + (own == wide || gradients ? block_bytes(chunk * pitch * own) : 0);
    dw = bias + (own < wide ? block_bytes(classes * wide) : 0);  // widened
    product = dw + (gradients ? block_bytes(classes * inputs * wide) : 0);
    bytes = product;
    const auto space = [&](int64_t m, int64_t n, int64_t k) {  // nothing can be padded
      return std::min(cuda::kLibraryBytes, cuda::product_bytes(x.dtype, 1, m, n, k));
    };
    for (const int64_t n : {chunk, chunk > 0 ? rows % chunk : 0})
      bytes = std::max({bytes, product + space(n, classes, inputs),
                        product + space(n, inputs, classes), product + space(classes, inputs, n)});
  }
};

}  // namespace plimsoll::linear_cross_entropy_detail
