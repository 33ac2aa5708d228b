// Cross-entropy of class labels under a softmax, from logits.
//
//   Tensor loss = cross_entropy(logits, labels);       // [B, T, C] and i64 [B, T] -> []
#pragma once

#include "core/tensor.h"

namespace plimsoll {

// loss = mean over the counted rows r of log(sum_c exp(logits[r, c])) - logits[r, labels[r]]; in
// nats. Rows whose label is `ignore_index` do not count; when none does, the loss is 0 / 0 = NaN,
// as in PyTorch, and the gradient zero. logits [..., C] of a floating type, labels [...] i64. The
// loss is computed and returned in f32, in f64 for f64 logits. The tape keeps the logits, the
// labels and one number a row; the gradient (softmax - one-hot) / counted can take the logits'
// memory. Errors: IndexError for a label outside [0, C), ShapeError, DTypeError.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, int64_t ignore_index = -100);

}  // namespace plimsoll
