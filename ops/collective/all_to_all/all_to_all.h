// Every rank gives each of the others a part, as the transposition of a matrix of parts.
//
//   Tensor y = all_to_all(x);           // [N, ...]: on rank r, y[s] is x[r] of rank s
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x [N, ...] on N ranks, of one shape and type on all of them. The gradient is the same exchange
// back. On one rank it is x itself, and nothing is emitted. Errors: ShapeError;
// StateError when a captured step runs on another number of ranks.
Tensor all_to_all(const Tensor& x);

}  // namespace plimsoll
