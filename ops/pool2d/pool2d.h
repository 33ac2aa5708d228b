// Pooling over windows of images [N, H, W, C].
//
//   Tensor y = max_pool2d(x);                                    // 2x2, stride 2: halves H and W
//   Tensor z = avg_pool2d(x, {.window = 3, .stride = 1, .padding = 1});
//   Tensor v = global_avg_pool(x);                               // [N, C]
//
// The result is [N, P, Q, C] with P = (H + 2 padding - window) / stride + 1, rounded down, and Q
// likewise. Floating types; sums are taken in f32 (f64 for f64). Errors: ShapeError (rank, a window
// larger than the padded image, images without pixels), ValueError (attributes), DTypeError.
#pragma once

#include "core/tensor.h"
#include "ops/pair.h"

namespace plimsoll {

struct Pool2dAttrs {
  Pair window = 2;
  Pair stride = 2;
  Pair padding = 0;  // on each side; at most half the window
  bool operator==(const Pool2dAttrs&) const = default;
};

// The maximum of each window; padding never wins, NaN does. The gradient goes to the first maximum
// in row order. The tape keeps one byte per output (four for windows of more than 256 elements).
Tensor max_pool2d(const Tensor& x, const Pool2dAttrs& attrs = {});

// The mean of each window, padding counted as zeros (PyTorch's default).
Tensor avg_pool2d(const Tensor& x, const Pool2dAttrs& attrs = {});

// The mean over all positions of an image: [N, H, W, C] -> [N, C].
Tensor global_avg_pool(const Tensor& x);

}  // namespace plimsoll
