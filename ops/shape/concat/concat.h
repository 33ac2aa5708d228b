// Joins tensors along one axis.
//
//   Tensor y = concat(std::array{a, b}, -1);          // [B, T, D] and [B, T, E] -> [B, T, D + E]
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

// The tensors one after another along `axis`; any dtype, any number of them from 1. The gradient of
// each is its slice of dy, without a copy. Errors: ShapeError (no tensor; no such axis; sizes that
// differ along another axis), DTypeError when the types differ.
Tensor concat(std::span<const Tensor> tensors, int64_t axis);

}  // namespace plimsoll
