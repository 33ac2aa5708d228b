// Cross-entropy of class labels under a softmax, from logits.
//
//   Tensor loss = cross_entropy(logits, labels);       // [B, T, C] and i64 [B, T] -> []
//   Tensor soft = cross_entropy(logits, labels, {.label_smoothing = 0.1});
#pragma once

#include "core/base/ignored_label.h"
#include "ops/loss/common/reduction.h"

namespace plimsoll {

struct CrossEntropyOptions {
  Tensor weight = {};  // w, of each class [C]; undefined: 1
  int64_t ignore_index = kIgnoredLabel;
  double label_smoothing = 0;  // e, 0 to 1: the share of the label that all classes divide
  Reduction reduction = Reduction::mean;
};

// loss[r] = (1 - e) w[y] (z - x[y]) + e/C sum_c w[c] (z - x[c]), in nats, for the row x = logits[r]
// with label y = labels[r] and z = log(sum_c exp(x[c])); 0 where y is ignore_index. The mean
// divides by the sum of w[y] over the other rows: 0 / 0 = NaN where there is none, as in PyTorch,
// with a gradient of zero. logits [..., C] of a floating type, labels [...] i64; the weights have
// no gradient. The loss, [] or for Reduction::none [...], is computed and returned in f32, in f64
// for f64 logits. The tape keeps the logits, the labels and two numbers a row; the gradient can
// take the logits' memory. Errors: IndexError for a label outside [0, C), ShapeError, DTypeError,
// ValueError.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     const CrossEntropyOptions& options = {});

}  // namespace plimsoll
