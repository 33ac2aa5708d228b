// Dense f32 copies of 16-bit tensors, for kernels that compute in f32 on whole operands (matrix
// products, convolutions). They live in the op's workspace, whose size is known beforehand.
//
//   std::byte* scratch = call.workspace.data();
//   const View a = widen(call.in[0], scratch);        // advances scratch
#pragma once

#include "core/tensor/value.h"

namespace plimsoll {

// Bytes that widen() or widened_like() takes: 0 for f32 and f64, which need no copy.
int64_t widened_bytes(const Meta& meta);

// A dense f32 copy of a 16-bit view; any other view is returned as it is. A view that is dense in
// another order of its axes, as a transposed matrix is, keeps its strides; all others become
// row-major.
View widen(const View& view, std::byte*& scratch);

// Room for a dense f32 result; any other view is returned as it is.
View widened_like(const View& view, std::byte*& scratch);

// Rounds a dense f32 view into a dense 16-bit one; nothing when they are the same memory.
void narrow(const View& from, const View& to);

}  // namespace plimsoll
