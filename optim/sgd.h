// Stochastic gradient descent, with momentum, Nesterov's look ahead and weight decay.
//
//   optim::SGD optimizer(model.parameters(), {.learning_rate = 0.1, .momentum = 0.9});
#pragma once

#include "optim/optimizer.h"

namespace plimsoll::optim {

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;         // 0: none, and no state is kept
  double damping = 0;          // of the gradient on its way into the velocity, from step 2 on
  bool nesterov = false;       // needs momentum
  double weight_decay = 0;     // L2 regularisation: added to the gradient
  uint64_t rounding_seed = 0;  // of bf16 parameters: at random; 0: to the nearest
};

// The formulas are those of ops/update/sgd_update. State: "velocity" when there is momentum.
// ValueError for negative numbers and for nesterov without momentum or with damping.
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, const SgdOptions& options = {});
};

}  // namespace plimsoll::optim
