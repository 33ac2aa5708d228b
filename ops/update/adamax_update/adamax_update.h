// One step of Adamax on one parameter, in place: Adam with the largest recent gradient in place of
// the root of the mean square.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   adamax_update(w, dw, m, u, step, lr);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct AdamaxUpdate {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2 regularisation: added to the gradient
  bool operator==(const AdamaxUpdate&) const = default;
};

// With t the step, counted from 1, and g = grad + weight_decay * param:
//   m = beta1 m + (1 - beta1) g,   u = max(beta2 u, |g| + eps)                 both start as zeros
//   param -= lr / (1 - beta1^t) * m / u
// State, step, rate, skip and errors are those of adam_update. Source: Kingma and Ba 2015, section
// 7.1.
void adamax_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& u,
                   const Tensor& step, const Tensor& lr, const AdamaxUpdate& options = {},
                   const Tensor& skip = {});

// ValueError, in the name of `op`, unless 0 <= beta1, beta2 < 1 and eps, weight_decay >= 0.
void check_options(const char* op, const AdamaxUpdate& options);

}  // namespace plimsoll
