// Convolution and transposed convolution of sequences [N, L, C], with filters [O, K, C / groups].
//
//   Tensor y = conv1d(x, w, {.padding = 1});                       // K = 3: keeps L
//   Tensor z = conv1d(x, w, {.padding = {4, 0}, .dilation = 2});   // K = 3, looks back only
//   Tensor v = conv_transpose1d(y, u, {.stride = 2});              // u [C, 2, O]: doubles L
//
// They are conv2d and conv_transpose2d of images one pixel high, so errors name those.
#pragma once

#include "core/tensor/tensor.h"
#include "ops/common/padding.h"

namespace plimsoll {

struct Conv1dAttrs {
  int64_t stride = 1;    // distance between neighbouring windows
  Sides padding = 0;     // zeros before and after
  int64_t dilation = 1;  // distance between neighbouring taps of a filter
  int64_t groups = 1;    // C and O are cut into as many groups that do not see each other
};

// y[n, i, o] = sum over a, c of x[n, i stride + a dilation - before, c] w[o, a, c], for each group
// of channels. [N, L, C], [O, K, C / groups] -> [N, P, O] with
// P = (L + before + after - dilation (K - 1) - 1) / stride + 1, rounded down.
// Errors: ShapeError (ranks); those of conv2d.
Tensor conv1d(const Tensor& x, const Tensor& w, const Conv1dAttrs& attrs = {});

// The same and bias [O]; undefined stands for 0.
Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv1dAttrs& attrs = {});

struct ConvTranspose1dAttrs {
  int64_t stride = 1;          // distance between the filters of neighbouring places
  Sides padding = 0;           // places taken off the result
  int64_t output_padding = 0;  // and added to it, at its end
  int64_t dilation = 1;        // distance between neighbouring taps of a filter
  int64_t groups = 1;          // C and O are cut into as many groups that do not see each other
};

// The gradient of conv1d for x, as an op: [N, L, C], [C, K, O / groups] -> [N, M, O] with
// M = (L - 1) stride - before - after + dilation (K - 1) + output_padding + 1.
// Errors: ShapeError (ranks); those of conv_transpose2d.
Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const ConvTranspose1dAttrs& attrs = {});

}  // namespace plimsoll
