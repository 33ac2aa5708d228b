// One step of NAdam on one parameter, in place: Adam with Nesterov's look ahead.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   nadam_update(w, dw, m, v, step, lr);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct NadamUpdate {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double momentum_decay = 4e-3;
  double weight_decay = 0;  // L2 regularisation: added to the gradient
  bool operator==(const NadamUpdate&) const = default;
};

// With t the step, counted from 1, g = grad + weight_decay * param, and
// mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2),   M_t = mu_1 mu_2 ... mu_t:
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2               both start as zeros
//   d = (1 - mu_t) / (1 - M_t) g + mu_t+1 / (1 - M_t+1) m
//   param -= lr * d / (sqrt(v / (1 - beta2^t)) + eps)
// State, step, rate, skip and errors are those of adam_update. Source: Dozat 2016, in PyTorch's
// form.
void nadam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                  const Tensor& step, const Tensor& lr, const NadamUpdate& options = {},
                  const Tensor& skip = {});

// ValueError, in the name of `op`, unless 0 <= beta1, beta2 < 1 and the others are 0 or more.
void check_options(const char* op, const NadamUpdate& options);

}  // namespace plimsoll
