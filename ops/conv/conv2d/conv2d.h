// Two-dimensional convolution and its two gradients, as three ops that are each other's gradients.
// Images are [N, H, W, C], filters [O, KH, KW, C / groups].
//
//   Tensor y = conv2d(x, w, {.stride = 2, .padding = 1});               // 3x3: halves H and W
//   Tensor d = conv2d(x, w, {.padding = 1, .groups = x.size(3)});       // depthwise
//   Tensor e = conv2d(x, w, {.padding = 2, .dilation = 2});             // 3x3 over 5x5 pixels
//   Tensor b = conv2d(x, w, bias, {.stride = 2});                       // bias: [O]
//
// With stride s, padding p, dilation d and G groups, for channel o of group g = o / (O / G):
//
//   y[n, i, j, o] = bias[o] +
//       sum over a, b, c of  x[n, i s + a d - p, j s + b d - p, g C / G + c] w[o, a, b, c]
//
// where x is 0 outside the image. It is the cross-correlation that deep learning calls convolution.
// In f32 (f64 for f64), rounded once; sums in an order that depends on the shapes alone. In f32,
// 3 x 3 and 5 x 5 may be by Winograd: rounded relative to a tile's largest (docs/precision.md).
#pragma once

#include "core/tensor/tensor.h"
#include "ops/common/padding.h"

namespace plimsoll {

struct Conv2dAttrs {
  Pair stride = 1;      // distance between neighbouring windows
  Padding padding = 0;  // zeros around the image
  Pair dilation = 1;    // distance between neighbouring taps of a filter
  int64_t groups = 1;   // C and O are cut into as many groups that do not see each other
  bool operator==(const Conv2dAttrs&) const = default;
};

// [N, H, W, C], [O, KH, KW, C / groups] -> [N, P, Q, O] with
// P = (H + top + bottom - dilation (KH - 1) - 1) / stride + 1, rounded down, and Q likewise.
// Errors: DTypeError (not one floating type), ValueError (attributes), ShapeError (ranks, channels,
// groups, a filter that reaches further than the padded image).
Tensor conv2d(const Tensor& x, const Tensor& w, const Conv2dAttrs& attrs = {});

// The same and bias [O], which is added before the one rounding; undefined stands for 0. Further
// errors: DTypeError, ShapeError (bias).
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dAttrs& attrs = {});

// The gradient of conv2d for its image, also known as transposed convolution: dy [N, P, Q, O] and
// w [O, KH, KW, C / groups] -> dx [N, H, W, C], where image = {H, W} is a size that conv2d would
// take to {P, Q}. Errors as above.
Tensor conv2d_input_grad(const Tensor& dy, const Tensor& w, Pair image,
                         const Conv2dAttrs& attrs = {});

// The gradient of conv2d for its filters: x [N, H, W, C] and dy [N, P, Q, O] -> dw [O, KH, KW,
// C / groups], where filter = {KH, KW}. Errors as above.
Tensor conv2d_weight_grad(const Tensor& x, const Tensor& dy, Pair filter,
                          const Conv2dAttrs& attrs = {});

}  // namespace plimsoll
