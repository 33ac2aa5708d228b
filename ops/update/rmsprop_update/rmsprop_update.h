// One step of RMSprop on one parameter, in place: the gradient over the root of its mean square.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   rmsprop_update(w, dw, {.square = v}, step, lr, {.alpha = 0.99});
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct RmspropUpdate {
  double alpha = 0.99;  // of the running means
  double eps = 1e-8;
  double momentum = 0;
  bool centred = false;     // by the variance of the gradient, not by its mean square
  double weight_decay = 0;  // L2 regularisation: added to the gradient
  bool operator==(const RmspropUpdate&) const = default;
};

// Running values, all starting as zeros: `mean` goes with centred, `velocity` with momentum.
struct RmspropState {
  Tensor square, mean = {}, velocity = {};
};

// With g = grad + weight_decay * param:
//   square = alpha square + (1 - alpha) g^2,   mean = alpha mean + (1 - alpha) g
//   d = g / (sqrt(square - mean^2) + eps)                                without mean: sqrt(square)
// (a difference that rounding took below 0 counts as 0)
//   velocity = momentum velocity + d,   param -= lr * velocity           without momentum: lr * d
// State, step, rate, skip and errors are those of adam_update; ValueError also for state that does
// not go with the options. Sources: Hinton 2012, lecture 6; centred: Graves 2013.
void rmsprop_update(const Tensor& param, const Tensor& grad, const RmspropState& state,
                    const Tensor& step, const Tensor& lr, const RmspropUpdate& options = {},
                    const Tensor& skip = {});

// ValueError, in the name of `op`, unless 0 <= alpha < 1 and the others are 0 or more.
void check_options(const char* op, const RmspropUpdate& options);

}  // namespace plimsoll
