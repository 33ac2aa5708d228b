// Comparisons and logic, element by element with NumPy broadcasting; the result is of type bool.
//
//   Tensor keep = logical_and(ge(x, 0), lt(x, limit));   // [N, D], [D] -> bool [N, D]
//   Tensor y = where(keep, x, other);
//
// No gradient flows through them: a result is off the tape. Comparing with NaN is false, except
// that ne is true, as in IEEE 754.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// Any type, the same for both. DTypeError, ShapeError.
Tensor eq(const Tensor& a, const Tensor& b);  // a == b
Tensor ne(const Tensor& a, const Tensor& b);  // a != b
Tensor lt(const Tensor& a, const Tensor& b);  // a < b
Tensor le(const Tensor& a, const Tensor& b);  // a <= b
Tensor gt(const Tensor& a, const Tensor& b);  // a > b
Tensor ge(const Tensor& a, const Tensor& b);  // a >= b

// With a constant, which is first rounded to the floating type of x: eq(full({}, 0.1), 0.1) holds.
// ValueError when x is of an integer type that does not have the constant.
Tensor eq(const Tensor& x, double c);
Tensor ne(const Tensor& x, double c);
Tensor lt(const Tensor& x, double c);
Tensor le(const Tensor& x, double c);
Tensor gt(const Tensor& x, double c);
Tensor ge(const Tensor& x, double c);

// Of bools. DTypeError for other types: compare with 0 first. ShapeError.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

}  // namespace plimsoll
