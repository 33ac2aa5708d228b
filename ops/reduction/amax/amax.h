// Maxima and minima over axes, and where they are.
//
//   Tensor m = amax(x, {-1}, Keep::ones);             // [N, D] -> [N, 1]
//   Tensor label = argmax(logits, -1);                // [N, C] -> i64 [N]
//
// Any type. A NaN is the maximum and the minimum of any elements it is among. An extreme over no
// elements does not exist: ShapeError, as when an axis does not exist or is named twice.
#pragma once

#include "core/tensor/tensor.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

// The largest or smallest element over the given axes. Its gradient is shared evenly among all
// elements that equal it (as torch.amax does), since no one of them is special.
Tensor amax(const Tensor& x, const Shape& axes, Keep keep = Keep::none);
Tensor amin(const Tensor& x, const Shape& axes, Keep keep = Keep::none);

// Position along one axis of the first largest or smallest element, as i64. No gradient.
Tensor argmax(const Tensor& x, int64_t axis, Keep keep = Keep::none);
Tensor argmin(const Tensor& x, int64_t axis, Keep keep = Keep::none);

}  // namespace plimsoll
