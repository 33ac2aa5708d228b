// Kullback-Leibler divergence of a target distribution t from a prediction given by its logarithm.
//
//   Tensor loss = kl_div(log_p, t, {.reduction = Reduction::sum}) / batch;       // [N, C] -> []
//   Tensor both = kl_div(log_p, log_t, {.log_target = true});
#pragma once

#include "ops/loss/common/reduction.h"

namespace plimsoll {

struct KlDivOptions {
  bool log_target = false;  // the target is given by its logarithm too
  Reduction reduction = Reduction::mean;
};

// loss = t (log t - log_p), element by element, in nats. Where t is 0 the loss is 0, whatever log_p
// is (PyTorch has NaN for log_p = -infinity there). The mean divides by the number of elements; the
// divergence proper is the sum over them divided by the number of distributions. log_p and the
// target of one shape and floating type. Computed and returned in f32, in f64 for f64 inputs. Both
// have a gradient; the one of t is log t - log_p + 1, so -infinity at t = 0.
// Errors: DTypeError, ShapeError.
Tensor kl_div(const Tensor& log_p, const Tensor& target, const KlDivOptions& options = {});

}  // namespace plimsoll
