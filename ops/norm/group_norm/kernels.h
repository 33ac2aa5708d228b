// The kernels of group_norm: x is [N, P, C], P positions of each image.
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

// In: x, gamma [C], beta [C]. Out: y, mean [N, G] in f64, 1 / sqrt(variance + eps) [N, G] in
// gamma's type. y may lie in x's memory.
void forward(const Call& call, const Sizes& sizes, double eps);

// In: dy, x, gamma, mean, inverse deviation. Out: dx, dgamma, dbeta. dx may lie in dy's memory.
void backward(const Call& call, const Sizes& sizes);

// For either of them.
int64_t workspace(const Sizes& sizes, DType dtype);

// The same on a GPU: the sums of chunks, then two numbers for each channel and for each group of an
// image.
inline cuda::ColumnCut column_cut(const Sizes& sizes) {
  return cuda::ColumnCut(sizes.positions, sizes.channels, sizes.images);
}
inline int64_t cuda_workspace(const Sizes& sizes) {
  return column_cut(sizes).sums_bytes(2) +
         2 * sizes.images * (sizes.channels + sizes.groups) * static_cast<int64_t>(sizeof(double));
}

}  // namespace plimsoll::group_norm_detail
