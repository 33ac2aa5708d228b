// Arithmetic with NumPy broadcasting, on tensors of one dtype.
//
//   Tensor y = (x - mean) / std;       // [N, D], [D], [D]
//   Tensor z = 1.0 - 0.5 * y;          // constants never become tensors
//
// add, sub, mul, div: y[i] = a[i] (+ - * /) b[i] over the broadcast shape. Integers wrap around;
// they have no div, because the quotient is no integer. Errors: DTypeError when the dtypes differ
// or are not numbers, ShapeError when the shapes do not broadcast.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);

// y = a / b without its fraction: the quotient of integers, rounded towards zero. No gradient.
// ValueError where an integer is divided by 0.
Tensor div_trunc(const Tensor& a, const Tensor& b);

// y = scale * x + shift, any shape. The constants are frozen when a step is captured.
// f16 and bf16 are computed with f32 constants, as f32 is.
Tensor affine(const Tensor& x, double scale, double shift);

// y = x / divisor, rounded once: not a product with the reciprocal. The same rules.
Tensor divide(const Tensor& x, double divisor);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
// Plus -0 leaves every product as it is, plus 0 would make 0 of -0.
inline Tensor operator-(const Tensor& x) { return affine(x, -1, -0.0); }
inline Tensor operator+(const Tensor& x, double c) { return affine(x, 1, c); }
inline Tensor operator+(double c, const Tensor& x) { return affine(x, 1, c); }
inline Tensor operator-(const Tensor& x, double c) { return affine(x, 1, -c); }
inline Tensor operator-(double c, const Tensor& x) { return affine(x, -1, c); }
inline Tensor operator*(const Tensor& x, double c) { return affine(x, c, -0.0); }
inline Tensor operator*(double c, const Tensor& x) { return affine(x, c, -0.0); }
inline Tensor operator/(const Tensor& x, double c) { return divide(x, c); }

}  // namespace plimsoll
