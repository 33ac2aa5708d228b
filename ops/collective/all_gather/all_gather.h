// What every rank has, on all ranks.
//
//   Tensor y = all_gather(x);           // [...] -> [N, ...]: y[s] is x of rank s
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x of one shape and type on all N ranks. The gradient (of the sum of all ranks' losses) is
// reduce_scatter(dy). On one rank it is a view of x, and nothing is emitted. Runs on the CPU.
// Errors: StateError when a captured step runs on another number of ranks.
Tensor all_gather(const Tensor& x);

}  // namespace plimsoll
