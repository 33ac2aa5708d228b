// Tensors made from a constant.
//
//   Tensor m = zeros({128, 10});
//   Tensor lr = full({}, 1e-3);                      // a scalar
//   Tensor ids = zeros({4}, {.dtype = DType::i64});
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct Placement {
  DType dtype = DType::f32;
  Device device = Device::cpu;
};

// Every element is `value`, converted to the dtype as cast() does it. ShapeError on negative or
// overflowing sizes.
Tensor full(const Shape& shape, double value, Placement placement = {});
Tensor zeros(const Shape& shape, Placement placement = {});
Tensor ones(const Shape& shape, Placement placement = {});

}  // namespace plimsoll
