// Which pixels a row or a column of the result is mixed from: what the kernels of the CPU and of a
// GPU share.
#pragma once

#include <algorithm>

#include "core/tensor/meta.h"
#include "ops/pool/interpolate/interpolate.h"

namespace plimsoll {

struct InterpolateGradAttrs {
  InterpolateAttrs interpolate;
  Shape image;
  bool operator==(const InterpolateGradAttrs&) const = default;
};

// What one row of the result takes from rows `low` and `high` of the image; columns likewise.
struct InterpolationMix {
  int64_t low, high;
  double low_weight, high_weight;

  // Weight of row y: both parts, where the last row stands for its neighbour too.
  constexpr double of(int64_t y) const {
    return (y == low ? low_weight : 0) + (y == high ? high_weight : 0);
  }
};

// As in PyTorch an axis that keeps its size is copied, and one that doubles repeats each nearest
// pixel, also where a scale a little off was given.
struct InterpolationAxis {
  int64_t in, out;
  double scale;  // 0: none was given
  Interpolation mode;
  bool align_corners;

  constexpr InterpolationMix operator[](int64_t i) const {
    if (out == in) return {i, i, 1, 0};
    if (mode == Interpolation::nearest) {
      if (out == 2 * in) return {i / 2, i / 2, 1, 0};
      const int64_t row =
          scale > 0 ? static_cast<int64_t>(static_cast<double>(i) / scale) : i * in / out;
      const int64_t low = std::min(row, in - 1);
      return {low, low, 1, 0};
    }
    const double place = std::min(source(static_cast<double>(i)), static_cast<double>(in - 1));
    const int64_t low = static_cast<int64_t>(place);
    const double t = place - static_cast<double>(low);
    return {low, std::min(low + 1, in - 1), 1 - t, t};
  }

 private:
  constexpr double source(double i) const {
    if (align_corners)
      return out > 1 ? i * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    const double ratio = scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
    return std::max((i + 0.5) * ratio - 0.5, 0.0);
  }
};

// Of the rows and of the columns.
inline std::pair<InterpolationAxis, InterpolationAxis> axes_of(const Shape& image,
                                                               const Shape& result,
                                                               const InterpolateAttrs& a) {
  return {{image[1], result[1], a.scale.h, a.mode, a.align_corners},
          {image[2], result[2], a.scale.w, a.mode, a.align_corners}};
}

}  // namespace plimsoll
