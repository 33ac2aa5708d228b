// Rows of a table, looked up by number.
//
//   Tensor x = embedding(table, tokens);       // [V, D] and [B, T] -> [B, T, D]
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y[..., d] = table[ids[...], d]: table [V, D] of a floating type, ids [...] i64 or i32. Under
// Autocast the rows are cast and not the table. The gradient of a row is the sum over the positions
// that looked it up, in their order, each row summed by one thread and rounded once. Errors:
// IndexError for an id outside [0, V) where D is not 0, ShapeError, DTypeError.
Tensor embedding(const Tensor& table, const Tensor& ids);

}  // namespace plimsoll
