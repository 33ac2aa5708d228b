// Rows written in place into a tensor that is kept, where integers say: how attention remembers the
// keys and values of what it has read.
//
//   write_rows(cache, keys, positions);               // [B, C, H, D], [B, T, H, D], [T]
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// In place: into[b, ids[t], ...] = rows[b, t, ...]; all other rows stay bit for bit. Any dtype; ids
// i64 or i32, from 0 and below C. Of rows with the same id the last stays. The rows are read
// through their strides where each is dense, such as those of a slice. Off the tape. Errors:
// IndexError naming the first id that is out of range, on the CPU before anything is written;
// ShapeError, DTypeError; StateError as for every op that writes in place.
void write_rows(const Tensor& into, const Tensor& rows, const Tensor& ids);

}  // namespace plimsoll
