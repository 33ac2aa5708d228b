// One step of Adagrad on one parameter, in place: steps shrink where gradients were large.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   adagrad_update(w, dw, sum_of_squares, step, lr, {.lr_decay = 0.01});
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct AdagradUpdate {
  double lr_decay = 0;
  double eps = 1e-10;
  double weight_decay = 0;  // L2 regularisation: added to the gradient
  bool operator==(const AdagradUpdate&) const = default;
};

// With t the step, counted from 1:
//   g = grad + weight_decay * param,   sum += g^2                            sum starts as zeros
//   param -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(sum) + eps)
// State, step, rate, skip and errors are those of adam_update. Source: Duchi, Hazan and Singer
// 2011.
void adagrad_update(const Tensor& param, const Tensor& grad, const Tensor& sum, const Tensor& step,
                    const Tensor& lr, const AdagradUpdate& options = {}, const Tensor& skip = {});

// ValueError, in the name of `op`, unless all options are 0 or more.
void check_options(const char* op, const AdagradUpdate& options);

}  // namespace plimsoll
