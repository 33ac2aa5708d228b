// One step of stochastic gradient descent on one parameter, in place.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   sgd_update(w, dw, velocity, step, lr, {.momentum = 0.9, .weight_decay = 1e-4});
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct SgdUpdate {
  double momentum = 0;
  double damping = 0;       // of the gradient on its way into the velocity, from step 2 on
  bool nesterov = false;    // look ahead along the new velocity
  double weight_decay = 0;  // added to the gradient: L2 regularisation
  uint64_t rounding = 0;    // of bf16 parameters: at random by this key; 0: to the nearest
  bool operator==(const SgdUpdate&) const = default;
};

// In PyTorch's form of momentum (the learning rate multiplies the whole step):
//   g = grad + weight_decay * param
//   v = momentum * v + (1 - damping) g            only with momentum; v = g in step 1
//   param -= lr * (nesterov ? g + momentum * v : momentum ? v : g)
// `velocity` is like param (f32 for 16-bit parameters), starts as zeros, and is undefined without
// momentum; step is i64 [], counted from 1, lr a scalar of f32 or f64. Where skip (bool
// []; undefined: false) is true, nothing changes. Errors: ShapeError, DTypeError; StateError when
// param is on the tape and recording is on (do it under NoGrad), or is not contiguous; ValueError
// for a velocity without momentum or the other way round, and for the options that check_options()
// refuses.
// Sources: Polyak 1964; Sutskever, Martens, Dahl and Hinton 2013.
void sgd_update(const Tensor& param, const Tensor& grad, const Tensor& velocity, const Tensor& step,
                const Tensor& lr, const SgdUpdate& options = {}, const Tensor& skip = {});

// ValueError, in the name of `op`, unless momentum, weight_decay >= 0, 0 <= damping <= 1, and
// nesterov comes with momentum and without damping.
void check_options(const char* op, const SgdUpdate& options);

}  // namespace plimsoll
