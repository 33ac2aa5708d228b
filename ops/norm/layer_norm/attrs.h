// The attributes of layer_norm, and how its kernels subtract a mean.
//
// The mean of a row is kept in f64. In f32 the mean of values near 1e4 is off by up to 5e-4, and so
// would be every deviation from it. Kernels subtract it in two steps, high part and rest: the first
// difference is exact where it matters.
#pragma once

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

}  // namespace plimsoll::layer_norm_detail
