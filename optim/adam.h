// Adam and AdamW: steps scaled by running means of the gradient and of its square.
//
//   optim::AdamW optimizer(model.parameters(), {.learning_rate = 3e-4, .weight_decay = 0.1});
#pragma once

#include "optim/optimizer.h"

namespace plimsoll::optim {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;  // of the running means; 0 <= beta < 1
  double eps = 1e-8;                  // added to the root: bounds the step where gradients vanish
  double weight_decay = 0;            // L2 regularisation: added to the gradient
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: param *= 1 - learning_rate * weight_decay
};

// The formulas are those of ops/adam_update. State: "first_moment", "second_moment". ValueError for
// betas outside [0, 1) and negative numbers.
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {});
};

class AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<Tensor> parameters, const AdamWOptions& options = {});
};

}  // namespace plimsoll::optim
