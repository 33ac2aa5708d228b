// Group and instance normalisation of each image by itself (Wu and He, "Group Normalization", arXiv
// 1803.08494; Ulyanov et al., "Instance Normalization", arXiv 1607.08022).
//
//   Tensor y = group_norm(x, 32, gamma, beta);         // [N, H, W, C] with gamma and beta [C]
//   Tensor z = instance_norm(x, gamma, beta);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y = gamma (x - mean) / sqrt(variance + eps) + beta, where each image's channels are cut into
// groups of C / groups neighbours, and mean and variance (biased) are those of one group over all
// positions of one image. x [N, ..., C], channels last; gamma and beta [C] in f32, or f64
// when x is; means are kept in f64. Deviations are taken from the mean before they are squared:
// a large common offset costs no accuracy. Errors: ShapeError, DTypeError, ValueError (groups do
// not divide C; eps < 0).
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta,
                  double eps = 1e-5);

// A group for each channel.
Tensor instance_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps = 1e-5);

}  // namespace plimsoll
