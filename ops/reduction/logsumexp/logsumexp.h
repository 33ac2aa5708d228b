// The logarithm of a sum of exponentials, over axes.
//
//   Tensor z = logsumexp(scores, {-1});               // [N, C] -> [N]
#pragma once

#include "core/tensor/tensor.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

// y = m + log(sum_j exp(x_j - m)), m = max_j x_j: no overflow however large x is. Elements that are
// all -inf, or none at all, give -inf; one +inf without NaN gives +inf. The gradient is
// dx_j = dy exp(x_j - y), the softmax, and 0 where y = -inf. Floating types; 16-bit ones are
// computed in f32. Errors: ShapeError (no such axis, named twice), DTypeError for integers.
Tensor logsumexp(const Tensor& x, const Shape& axes, Keep keep = Keep::none);

}  // namespace plimsoll
