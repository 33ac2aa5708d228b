// Powers, floating types; special values as std::pow has them: pow(x, 0) = 1 even for NaN, a
// negative base has no power that is not whole (NaN).
//
//   Tensor y = pow(x, 1.5);
//   Tensor z = pow(a, b);              // element by element, with NumPy broadcasting
//
// f16 and bf16 are computed in f32. DTypeError for integers and differing types; ShapeError when
// the shapes do not broadcast.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x^c. dx = dy c x^(c - 1), and 0 when c = 0. The exponents 2, 3, -1, 0.5 and -0.5 are fast. The
// constant is frozen when a step is captured.
Tensor pow(const Tensor& x, double c);

// a^b. da = dy b a^(b - 1), 0 where b = 0; db = dy a^b log(a), 0 where a = 0 and b >= 0.
Tensor pow(const Tensor& a, const Tensor& b);

}  // namespace plimsoll
