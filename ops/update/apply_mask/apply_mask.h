// Elements that are to stay 0, such as pruned weights: set to 0 again after whatever moved them.
//
//   optimizer.update(gradients(loss, {w}));
//   apply_mask(w, mask);                              // [O, I], bool [O, I]
//
// One byte of mask an element and no other memory; a captured step reads the mask of the moment.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// In place: x = mask ? x : +0, whatever x holds there, NaN too; what the mask keeps stays bit for
// bit. x of any type, mask bool of x's shape. Off the tape. DTypeError, ShapeError; StateError as
// for every op that writes in place.
void apply_mask(const Tensor& x, const Tensor& mask);

}  // namespace plimsoll
