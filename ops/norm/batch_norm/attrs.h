// What the kernels of batch normalisation share on all devices: x is [R, C], rows of channels.
#pragma once

#include "core/engine/op.h"

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

extern const OpDef running_stats_op, inference_op, inference_relu_op;
extern const WithRelu with_relu, inference_with_relu;

}  // namespace plimsoll::batch_norm_detail
