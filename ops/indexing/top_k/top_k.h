// The k largest or smallest elements along an axis.
//
//   const auto [values, indices] = top_k(logits, 5);          // [N, C] -> [N, 5] and i64 [N, 5]
//   Tensor nearest = top_k(distance, 3, 0, Order::smallest).indices;
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

enum class Order { largest, smallest };  // which come first

struct TopK {
  Tensor values;   // in order; their gradient goes back to where they came from
  Tensor indices;  // along the axis, i64
};

// Any type but bool. Of equal elements the earlier come first; NaN counts as larger than anything,
// as in PyTorch. Errors: ShapeError when the axis does not exist or has fewer than k elements, or
// k < 0; DTypeError for bool.
TopK top_k(const Tensor& x, int64_t k, int64_t axis = -1, Order order = Order::largest);

}  // namespace plimsoll
