// What the kernels of group_norm share on all devices: x is [N, P, C], P positions of each image.
#pragma once

#include "core/engine/op.h"
#include "ops/norm/common/columns.h"

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

// The workspace on a GPU: the sums of chunks, then two numbers for each channel and for each group of an
// image.
inline cuda::ColumnCut column_cut(const Sizes& sizes) {
  return cuda::ColumnCut(sizes.positions, sizes.channels, sizes.images);
}
inline int64_t cuda_workspace(const Sizes& sizes) {
  return column_cut(sizes).sums_bytes(2) +
         2 * sizes.images * (sizes.channels + sizes.groups) * static_cast<int64_t>(sizeof(double));
}

}  // namespace plimsoll::group_norm_detail
