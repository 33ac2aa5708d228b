// Kernels of batch normalisation, and what those of a GPU share: x is [R, C], rows of channels.
#pragma once

#include "core/op.h"

namespace plimsoll::batch_norm_detail {

struct BatchNormAttrs {
  double eps;
  bool operator==(const BatchNormAttrs&) const = default;
};
struct RunningAttrs {
  double momentum;
  int64_t n;
  bool operator==(const RunningAttrs&) const = default;
};

struct Rows {
  int64_t rows = 1, channels = 1;
};
Rows rows_of(const Shape& shape);

// DTypeError or ShapeError unless x has elements and the other inputs are vectors of its channels,
// in f32 (f64 when x is f64).
void check_channels(const char* name, std::span<const Meta> in);

// In: x, gamma, beta. Out: y, mean, variance, inverse standard deviation, tail of the mean: what
// its rounding to f32 cut off. x - mean - tail is exact where x lies far from zero.
void forward(const Call& call, double eps);
// In: dy, x, gamma, mean, inverse standard deviation, tail. Out: dx, dgamma, dbeta. dx may be dy's
// memory.
void backward(const Call& call);

// Two f64 partial results per chunk and channel, for each of them on the CPU.
int64_t scratch_bytes(const Shape& x);
// OpDef::workspace of batch_norm and its gradient, on any device.
int64_t workspace(const Call& call);

}  // namespace plimsoll::batch_norm_detail
