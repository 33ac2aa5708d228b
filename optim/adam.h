// Adam and its family: steps scaled by running means of the gradient and of its square.
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
  bool amsgrad = false;               // scale by the highest second moment so far
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: param *= 1 - learning_rate * weight_decay
  bool amsgrad = false;
  uint64_t rounding_seed = 0;  // of bf16 parameters: at random; 0: to the nearest
};

struct AdamaxOptions {
  double learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

struct NAdamOptions {
  double learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double momentum_decay = 4e-3;
  double weight_decay = 0;
};

struct RAdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

// The formulas are those of ops/update/adam_update, ops/update/adamax_update,
// ops/update/nadam_update and ops/update/radam_update. State: "first_moment", "second_moment"; with
// amsgrad also "highest_moment"; of Adamax "first_moment", "largest_gradient". ValueError for betas
// outside [0, 1) and negative numbers.
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {});
};

class AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<Tensor> parameters, const AdamWOptions& options = {});
};

class Adamax : public Optimizer {
 public:
  explicit Adamax(std::vector<Tensor> parameters, const AdamaxOptions& options = {});
};

class NAdam : public Optimizer {
 public:
  explicit NAdam(std::vector<Tensor> parameters, const NAdamOptions& options = {});
};

class RAdam : public Optimizer {
 public:
  explicit RAdam(std::vector<Tensor> parameters, const RAdamOptions& options = {});
};

}  // namespace plimsoll::optim
