// What every rank has, on all ranks.
//
//   Tensor y = all_gather(x);           // [...] -> [N, ...]: y[s] is x of rank s
//   all_gather_in_place(parts);         // [N, ...]: parts[s] becomes what it is on rank s
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x of one shape and type on all N ranks. The gradient (of the sum of all ranks' losses) is
// reduce_scatter(dy). On one rank it is a view of x, and nothing is emitted.
// Errors: StateError when a captured step runs on another number of ranks.
Tensor all_gather(const Tensor& x);

// `parts` [N, ...] of one shape and type on all N ranks: each gives its own part, and gets those of
// the others. On one rank nothing is emitted. Errors: ShapeError; StateError as above, and as for
// every op that writes in place.
void all_gather_in_place(const Tensor& parts);

}  // namespace plimsoll
