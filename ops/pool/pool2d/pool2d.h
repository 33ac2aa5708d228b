// Pooling over windows of images [N, H, W, C].
//
//   Tensor y = max_pool2d(x);                                    // 2x2, stride 2: halves H and W
//   Tensor z = avg_pool2d(x, {.window = 3, .stride = 1, .padding = 1});
//   Tensor a = adaptive_avg_pool2d(x, {7, 7});                   // [N, 7, 7, C], whatever H and W
//   Tensor v = global_avg_pool(x);                               // [N, C]
//
// The result is [N, P, Q, C] with
// P = (H + top + bottom - dilation (window - 1) - 1) / stride + 1, rounded down, and Q likewise.
// With ceil_mode it is rounded up, so that the last window may hang over; but one that would start
// beyond the image is left out. Floating types; sums are taken in f32 (f64 for f64). Semantics are
// PyTorch's. Errors: ShapeError (rank, a window larger than the padded image, images without
// pixels), ValueError (attributes), DTypeError.
#pragma once

#include "core/tensor/tensor.h"
#include "ops/common/padding.h"

namespace plimsoll {

struct Pool2dAttrs {
  Pair window = 2;
  Pair stride = 2;
  Padding padding = 0;  // each less than a window reaches: dilation (window - 1) + 1
  Pair dilation = 1;    // distance between neighbouring elements of a window
  bool ceil_mode = false;
  bool count_include_pad = true;  // avg_pool2d: the padding counts as zeros
  bool operator==(const Pool2dAttrs&) const = default;
};

// The maximum of each window; padding never wins, NaN does. The gradient goes to the first maximum
// in row order. The tape keeps one byte per output (four for windows of more than 256 elements).
// A window that its dilation leads past every pixel has the maximum -infinity.
Tensor max_pool2d(const Tensor& x, const Pool2dAttrs& attrs = {});

// The mean of each window: its sum divided by the number of its elements. Those that hang over the
// padding never count, those in the padding do where count_include_pad says so; none at all: 0.
Tensor avg_pool2d(const Tensor& x, const Pool2dAttrs& attrs = {});

// P x Q windows that cover the image evenly: window i reads rows floor(i H / P) ... up to but not
// ceil((i + 1) H / P), and columns likewise. They overlap where P does not divide H.
Tensor adaptive_max_pool2d(const Tensor& x, Pair outputs);
Tensor adaptive_avg_pool2d(const Tensor& x, Pair outputs);

// Over all positions of an image: [N, H, W, C] -> [N, C].
Tensor global_max_pool(const Tensor& x);
Tensor global_avg_pool(const Tensor& x);

}  // namespace plimsoll
