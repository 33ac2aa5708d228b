// The kernels of group_norm: x is [N, P, C], P positions of each image.
#pragma once

#include "core/op.h"

namespace plimsoll::group_norm_detail {

struct Sizes {
  int64_t images, positions, channels, groups;
};

// In: x, gamma [C], beta [C]. Out: y, mean [N, G] in f64, 1 / sqrt(variance + eps) [N, G] in
// gamma's type. y may lie in x's memory.
void forward(const Call& call, const Sizes& sizes, double eps);

// In: dy, x, gamma, mean, inverse deviation. Out: dx, dgamma, dbeta. dx may lie in dy's memory.
void backward(const Call& call, const Sizes& sizes);

// For either of them.
int64_t workspace(const Sizes& sizes, DType dtype);

}  // namespace plimsoll::group_norm_detail
