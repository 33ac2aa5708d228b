// What quantised_linear is given beside tensors, on any device.
#pragma once

#include "ops/quantise/common/format.h"

namespace plimsoll {

struct QuantisedLinearAttrs {
  QuantisedAttrs weight;
  bool transposed;  // x W in place of x W'
  bool operator==(const QuantisedLinearAttrs&) const = default;
};

// Workspace of the weight on a GPU, which multiplies it whole.
inline int64_t whole_weight_bytes(const Shape& weight, DType dtype) {
  return block_bytes(count(weight) * size_of(dtype));
}

}  // namespace plimsoll
