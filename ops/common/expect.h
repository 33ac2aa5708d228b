// What ops expect of their arguments, in the same words everywhere.
//
//   check_defined("softmax", x);       // softmax: the tensor is undefined. Pass one that was ...
#pragma once

#include <cmath>

#include "core/tensor/tensor.h"

namespace plimsoll {

// For public functions that look at a shape or a dtype before apply(), which refuses undefined
// tensors by itself: an undefined one looks like a scalar. StateError.
inline void check_defined(const char* op, const Tensor& x) {
  check<StateError>(x.defined(), op, ": the tensor is undefined. Pass one that was computed.");
}

// The number that keeps a variance of zero from being divided by. ValueError.
inline void check_eps(const char* op, double eps) {
  check<ValueError>(std::isfinite(eps) && eps >= 0, op, ": eps is not a number from 0: ", eps,
                    ". Use 1e-5 or so.");
}

}  // namespace plimsoll
