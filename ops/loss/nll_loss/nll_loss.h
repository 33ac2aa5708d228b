// Negative log-likelihood of class labels under given log-probabilities.
//
//   Tensor loss = nll_loss(log_p, labels);                            // [N, C] and i64 [N] -> []
//   Tensor rare = nll_loss(log_p, labels, {.weight = weight});        // [C]
#pragma once

#include "core/base/ignored_label.h"
#include "ops/loss/common/reduction.h"

namespace plimsoll {

struct NllOptions {
  Tensor weight = {};  // of each class; undefined: 1
  int64_t ignore_index = kIgnoredLabel;
  Reduction reduction = Reduction::mean;
};

// loss[r] = -weight[labels[r]] log_p[r, labels[r]], in nats, and 0 for rows whose label is
// ignore_index. The mean divides by the sum of the counted rows' weights: 0 / 0 = NaN when none
// counts, with a gradient of zero. log_p [..., C] of a floating type, labels [...] i64, weight [C],
// without a gradient. The loss, [] or for Reduction::none [...], is computed and returned in f32,
// in f64 for f64 inputs. Errors: IndexError for a label outside [0, C), ShapeError, DTypeError.
Tensor nll_loss(const Tensor& log_p, const Tensor& labels, const NllOptions& options = {});

}  // namespace plimsoll
