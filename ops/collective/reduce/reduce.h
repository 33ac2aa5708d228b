// Sums over ranks, made of what moves bytes and of sum_parts: in one fixed order, and with no
// memory besides what a plan knows.
//
//   Tensor s = all_reduce(x);           // [...]: the sum of x of all ranks, on all of them
//   Tensor p = reduce_scatter(x);       // [N, ...] -> [...]: part r of that sum, on rank r
//   Tensor h = replicated(x);           // x, which all ranks use: their gradients are added
//   Tensor y = summed(h);               // the sum, which all ranks use alike: dy is theirs already
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x of one shape and floating type on all ranks. The loss that is differentiated is the sum of all
// ranks' losses. On one rank all are x itself (reduce_scatter: a view), and nothing is emitted.
// Errors: ShapeError, DTypeError.

// Gradient: all_reduce(dy).
Tensor all_reduce(const Tensor& x);
// x [N, ...] on N ranks. Gradient: all_gather(dy).
Tensor reduce_scatter(const Tensor& x);

// A layer whose columns are shared out among ranks reads replicated(x), which is the same on all of
// them; the rows of the next one give parts of a sum, summed(x), and every rank goes on with the
// whole (f and g of Shoeybi et al., "Megatron-LM", 2019). Whether a gradient is a part or a whole
// cannot be told from its type, so these two say it.
// x; gradient: all_reduce(dy).
Tensor replicated(const Tensor& x);
// all_reduce(x); gradient: dy.
Tensor summed(const Tensor& x);

}  // namespace plimsoll
