// Running sums along one axis.
//
//   Tensor y = cumsum(x, 1);                              // y[i][j] = x[i][0] + ... + x[i][j]
//   Tensor starts = cumsum(lengths, 0, {.exclusive = true});   // {3, 1, 2} -> {0, 3, 4}
//
// Floating types keep their type and are accumulated in f64; integers and booleans are summed in
// i64 and give i64. The gradient is the running sum of dy from the other end.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct CumsumOptions {
  bool exclusive = false;  // y[i] leaves x[i] out: the first is 0
  bool reverse = false;    // from the last element to the first
};

// Any shape of rank 1 or more. ShapeError when the axis does not exist.
Tensor cumsum(const Tensor& x, int64_t axis, const CumsumOptions& options = {});

}  // namespace plimsoll
