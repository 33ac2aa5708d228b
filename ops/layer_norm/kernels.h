// The kernels of layer_norm on the CPU, in a file of their own, and what those of a GPU share.
//
// The mean of a row is kept in f64. In f32 the mean of values near 1e4 is off by up to 5e-4, and so
// would be every deviation from it. Vector loops subtract it in two steps, high part and rest: the
// first difference is exact where it matters.
#pragma once

#include "core/op.h"

namespace plimsoll::layer_norm_detail {

struct LayerNormAttrs {
  double eps;
  bool operator==(const LayerNormAttrs&) const = default;
};

// A number in double as the sum of two in C.
template <class C>
struct Split {
  C high, rest;
  explicit constexpr Split(double value)
      : high(static_cast<C>(value)), rest(static_cast<C>(value - static_cast<double>(high))) {}
};

// In: x [rows, D], gamma [D], beta [D]. Out: y [rows, D], mean [rows] in f64, 1 / sqrt(variance +
// eps) [rows] in gamma's type. y may lie in x's memory.
void forward(const Call& call, double eps);

// In: dy, x [rows, D], gamma [D], mean, inverse deviation [rows]. Out: dx [rows, D], dgamma, dbeta
// [D]. dx may lie in dy's memory.
void backward(const Call& call);

// Bytes that backward() needs for the partial sums of dgamma and dbeta.
int64_t backward_workspace(const Meta& x, const Meta& gamma);

}  // namespace plimsoll::layer_norm_detail
