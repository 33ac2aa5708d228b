// What ops expect of their arguments, in the same words everywhere.
//
//   check_defined("softmax", x);       // softmax: the tensor is undefined. Pass one that was ...
#pragma once

#include <cmath>
#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

// For public functions that look at a shape or a dtype before apply(), which refuses undefined
// tensors by itself: an undefined one looks like a scalar. StateError.
inline void check_defined(const char* op, const Tensor& x) {
  check<StateError>(x.defined(), op, ": the tensor is undefined. Pass one that was computed.");
}

// For the ops of floating types alone; `got` is what the message tells: a Meta or its type.
// DTypeError.
inline void check_floating(const char* op, DType got) {
  check<DTypeError>(is_floating(got), op, ": a floating type is needed: got ", got,
                    ". Cast it first.");
}
inline void check_floating(const char* op, const Meta& got) {
  check<DTypeError>(is_floating(got.dtype), op, ": a floating type is needed: got ", got,
                    ". Cast it first.");
}

// Two operands that are not cast to one type. DTypeError.
inline void check_same_type(const char* op, std::span<const Meta> in) {
  check<DTypeError>(in[0].dtype == in[1].dtype, op, ": the types differ: ", in[0].dtype, " and ",
                    in[1].dtype, ". Cast one of them.");
}

// The type of what ops compute in and keep beside their data, such as losses, statistics and the
// state of an optimizer: f64 for f64, else f32, since 16 bits would lose the small changes.
inline DType compute_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// The number that keeps a variance of zero from being divided by. ValueError.
inline void check_eps(const char* op, double eps) {
  check<ValueError>(std::isfinite(eps) && eps >= 0, op, ": eps is not a number from 0: ", eps,
                    ". Use 1e-5 or so.");
}

}  // namespace plimsoll
