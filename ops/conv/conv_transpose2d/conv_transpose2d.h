// Transposed convolution of images [N, H, W, C]: every pixel adds a whole filter to the result. It
// is the gradient of conv2d for its image, used as an op of its own.
//
//   Tensor y = conv_transpose2d(x, w, {.stride = 2});                  // 2x2: doubles H and W
//   Tensor z = conv_transpose2d(x, w, {.stride = 2, .padding = 1, .output_padding = 1});   // 3x3
//
// The filters are w [C, KH, KW, O / groups]: the inputs come first, as they would for the conv2d
// from O channels to C whose gradient this is. (PyTorch keeps [C, O / groups, KH, KW]: permute by
// {0, 2, 3, 1}.) With stride s, padding p and dilation d:
//
//   y[n, h, v, o] = sum over all i, j, a, b, c with h = i s + a d - top, v = j s + b d - left of
//                   x[n, i, j, c] w[c, a, b, o]             for each group of channels
//
#pragma once

#include "core/tensor/tensor.h"
#include "ops/common/padding.h"

namespace plimsoll {

struct ConvTranspose2dAttrs {
  Pair stride = 1;          // distance between the filters of neighbouring pixels
  Padding padding = 0;      // rows and columns taken off the result
  Pair output_padding = 0;  // and added to it, below and on the right; see the result's size
  Pair dilation = 1;        // distance between neighbouring taps of a filter
  int64_t groups = 1;       // C and O are cut into as many groups that do not see each other
  bool operator==(const ConvTranspose2dAttrs&) const = default;
};

// [N, H, W, C], [C, KH, KW, O / groups] -> [N, OH, OW, O] with
// OH = (H - 1) stride - top - bottom + dilation (KH - 1) + output_padding + 1, and OW likewise.
// conv2d takes up to `stride` sizes to the same result; output_padding says which of them is meant.
// Errors: StateError (undefined), DTypeError (not one floating type), ValueError (attributes;
// output_padding stays below the stride or the dilation, as in PyTorch), ShapeError (ranks,
// channels, groups, no pixels).
Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const ConvTranspose2dAttrs& attrs = {});

}  // namespace plimsoll
