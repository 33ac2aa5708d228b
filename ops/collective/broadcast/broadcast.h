// What one rank has, on all ranks.
//
//   Tensor y = broadcast(x, 0);         // [...] -> [...]: x of rank 0
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x of one shape and type on all N ranks. The gradient (of the sum of all ranks' losses) is the sum
// of all dy at the root, and zeros elsewhere. On one rank it is x itself, and nothing is emitted.
// Errors: ValueError for a root that there is not; StateError when a captured step
// runs on another number of ranks.
Tensor broadcast(const Tensor& x, int64_t root);

}  // namespace plimsoll
