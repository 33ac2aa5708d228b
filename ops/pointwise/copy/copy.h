// Copies and type changes.
//
//   contiguous(x)              // x itself when its elements already lie in row-major order
//   cast(x, DType::bf16)       // rounds to nearest even; to an integer type it truncates
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x in row-major memory of its own: a copy only when it is a strided view. Any dtype.
Tensor contiguous(const Tensor& x);

// A fresh row-major copy, always. Any dtype.
Tensor clone(const Tensor& x);

// The elements converted to `dtype` (x itself when it has that dtype already). Differentiable
// between floating types. Rounding: to nearest even for f16 and bf16, truncation to integers
// (a value that does not fit is clamped, NaN becomes 0), non-zero is true for bool.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace plimsoll
