// Images of another size: [N, H, W, C] -> [N, OH, OW, C], nearest neighbours or bilinear.
//
//   Tensor y = interpolate(x, {.scale = 2.0});                                     // nearest
//   Tensor z = interpolate(x, {.size = {64, 48}, .mode = Interpolation::bilinear});
//
// Result row i takes its place s in the image from the ratio r = H / OH, or 1 / scale where a scale
// was given; columns likewise:
//
//   nearest                     row min(floor(i r), H - 1)
//   bilinear                    s = max((i + 1/2) r - 1/2, 0)
//   bilinear, align_corners     s = i (H - 1) / (OH - 1): the corners fall on the corners
//
// and bilinear gives rows floor(s) and floor(s) + 1 (at most H - 1) the weights 1 - t and t with
// t = s - floor(s). As PyTorch, except that nearest rows are exact where PyTorch rounds i r in f32.
// The gradient of each pixel gathers from the results that read it, in order.
#pragma once

#include "core/tensor/tensor.h"
#include "ops/common/padding.h"

namespace plimsoll {

enum class Interpolation { nearest, bilinear };

struct Scale {
  double h = 0, w = 0;

  Scale() = default;
  constexpr Scale(double both) : h(both), w(both) {}  // NOLINT: meant to convert
  constexpr Scale(double height, double width) : h(height), w(width) {}
  bool operator==(const Scale&) const = default;
};

struct InterpolateAttrs {
  Pair size = 0;    // {OH, OW}; or
  Scale scale = 0;  // OH = floor(H scale.h), OW = floor(W scale.w)
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  // bilinear only
  bool operator==(const InterpolateAttrs&) const = default;
};

// Floating types; computed in f32 (f64 for f64). Errors: ValueError (not exactly one of size and
// scale, results without pixels), ShapeError (rank, images without pixels), DTypeError.
Tensor interpolate(const Tensor& x, const InterpolateAttrs& attrs);

}  // namespace plimsoll
