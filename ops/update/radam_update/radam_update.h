// One step of RAdam on one parameter, in place: Adam that does not scale by the second moment while
// too few gradients have gone into it.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   radam_update(w, dw, m, v, step, lr);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct RadamUpdate {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2 regularisation: added to the gradient
  bool operator==(const RadamUpdate&) const = default;
};

// With t the step, counted from 1, g = grad + weight_decay * param, R = 2 / (1 - beta2) - 1 and
// r = R - 2 t beta2^t / (1 - beta2^t), the length of the average so far:
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2               both start as zeros
//   param -= lr m / (1 - beta1^t) * (r > 5 ? s sqrt(1 - beta2^t) / (sqrt(v) + eps) : 1)
// with s^2 = (r - 4)(r - 2) R / ((R - 4)(R - 2) r).
// State, step, rate, skip and errors are those of adam_update. Source: Liu et al. 2020.
void radam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                  const Tensor& step, const Tensor& lr, const RadamUpdate& options = {},
                  const Tensor& skip = {});

// ValueError, in the name of `op`, unless 0 <= beta1, beta2 < 1 and eps, weight_decay >= 0.
void check_options(const char* op, const RadamUpdate& options);

}  // namespace plimsoll
