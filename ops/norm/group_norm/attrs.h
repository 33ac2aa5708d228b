// What the kernels of group_norm share on all devices: x is [N, P, C], P positions of each image.
#pragma once

#include "core/engine/op.h"

namespace plimsoll::group_norm_detail {

struct GroupNormAttrs {
  int64_t groups;
  double eps;
  bool operator==(const GroupNormAttrs&) const = default;
};

struct Sizes {
  int64_t images, positions, channels, groups;
};
Sizes sizes_of(const Shape& x, const Attrs& attrs);

}  // namespace plimsoll::group_norm_detail
