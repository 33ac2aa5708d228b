// Optimizers whose state lies in 8 bits: 1.016 bytes for each number that they remember of a
// parameter, where others have 4.
//
//   optim::AdamW8bit optimizer(model.parameters(), {.learning_rate = 3e-4, .weight_decay = 0.1});
#pragma once

#include "optim/optimizer.h"

namespace plimsoll::optim {

// What is small takes few bytes anyway, and biases and gains are what rounding hurts most.
constexpr int64_t kSmallestIn8Bits = 4096;

struct AdamW8bitOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;           // decoupled: param *= 1 - learning_rate * weight_decay
  int64_t smallest = kSmallestIn8Bits;  // parameters of fewer elements have their state in f32
  uint64_t rounding_seed = 0;           // of bf16 parameters: at random; 0: to the nearest
};

struct SGD8bitOptions {
  double learning_rate = 0.01;
  double momentum = 0.9;
  double damping = 0;
  bool nesterov = false;
  double weight_decay = 0;
  int64_t smallest = kSmallestIn8Bits;
  uint64_t rounding_seed = 0;
};

// The formulas are those of ops/update/adam8_update and ops/update/sgd8_update, for small
// parameters those of AdamW and SGD. State: "first_moment", "first_scales", "second_moment",
// "second_scales"; of SGD8bit "velocity", "velocity_scales"; scales are empty where the state is in
// f32. The scales are of blocks of whole parameters, so ranks cannot share it out. ValueError as
// for AdamW and SGD, for no momentum, and for a `smallest` below 0.
class AdamW8bit : public Optimizer {
 public:
  explicit AdamW8bit(std::vector<Tensor> parameters, const AdamW8bitOptions& options = {});
};

class SGD8bit : public Optimizer {
 public:
  explicit SGD8bit(std::vector<Tensor> parameters, const SGD8bitOptions& options = {});
};

}  // namespace plimsoll::optim
