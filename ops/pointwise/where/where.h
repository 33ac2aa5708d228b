// Elements chosen by a mask, with NumPy broadcasting.
//
//   Tensor y = where(keep, x, zeros({}));                // bool [N, D], [N, D], [] -> [N, D]
//   Tensor s = masked_fill(scores, future, -INFINITY);   // [B, T, T], bool [T, T]
//
// Gradients are chosen too, never multiplied: an infinity that was not chosen does not count.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y[i] = condition[i] ? a[i] : b[i] over the broadcast shape of all three; a and b of one type,
// whichever, condition bool. Errors: DTypeError, ShapeError.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

// x with `value`, converted as cast() does it, wherever the mask is true. The mask broadcasts to
// the shape of x, not beyond: ShapeError. DTypeError unless it is bool.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

}  // namespace plimsoll
