// The kernels of layer_norm on the CPU, in a file of their own.
#pragma once

#include "core/engine/op.h"
#include "ops/norm/layer_norm/attrs.h"

namespace plimsoll::layer_norm_detail {

// In: x [rows, D], gamma [D], beta [D]. Out: y [rows, D], mean [rows] in f64, 1 / sqrt(variance +
// eps) [rows] in gamma's type. y may lie in x's memory.
void forward(const Call& call, double eps);

// In: dy, x [rows, D], gamma [D], mean, inverse deviation [rows]. Out: dx [rows, D], dgamma, dbeta
// [D]. dx may lie in dy's memory.
void backward(const Call& call);

// Bytes that backward() needs for the partial sums of dgamma and dbeta.
int64_t backward_workspace(const Meta& x, const Meta& gamma);

}  // namespace plimsoll::layer_norm_detail
