// A tensor and what it is called: a parameter of a model, an entry of a file.
//
//   for (const NamedTensor& own : model.named_parameters()) print(own.name, own.tensor.meta());
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct NamedTensor {
  std::string name;  // "blocks.0.attention.qkv.weight"
  Tensor tensor;
};

}  // namespace plimsoll
