// RMSprop and Adagrad: steps divided by the root of the squares that gradients had, their running
// mean or their sum.
//
//   optim::RMSprop optimizer(model.parameters(), {.learning_rate = 1e-3, .momentum = 0.9});
#pragma once

#include "optim/optimizer.h"

namespace plimsoll::optim {

struct RMSpropOptions {
  double learning_rate = 0.01;
  double alpha = 0.99;  // of the running means; 0 <= alpha < 1
  double eps = 1e-8;
  double momentum = 0;      // 0: none, and no velocity is kept
  bool centred = false;     // by the variance of the gradient, not by its mean square
  double weight_decay = 0;  // L2 regularisation: added to the gradient
};

struct AdagradOptions {
  double learning_rate = 0.01;
  double lr_decay = 0;  // learning_rate / (1 + (step - 1) lr_decay)
  double eps = 1e-10;
  double weight_decay = 0;
};

// The formulas are those of ops/update/rmsprop_update and ops/update/adagrad_update. State:
// "mean_square", "mean" when centred, "velocity" when there is momentum; "sum_of_squares".
// ValueError for options out of their range.
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(std::vector<Tensor> parameters, const RMSpropOptions& options = {});
};

class Adagrad : public Optimizer {
 public:
  explicit Adagrad(std::vector<Tensor> parameters, const AdagradOptions& options = {});
};

}  // namespace plimsoll::optim
