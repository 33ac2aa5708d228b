// One step of Adam, AMSGrad or AdamW on one parameter, in place.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   adam_update(w, dw, m, v, step, lr, {.weight_decay = 0.01, .decoupled = true});
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct AdamUpdate {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // AdamW: the decay acts on the parameter, not through the gradient
  uint64_t rounding = 0;   // of bf16 parameters: at random by this key; 0: to the nearest
  bool operator==(const AdamUpdate&) const = default;
};

// With t the step, counted from 1:
//   g = grad + weight_decay * param               decoupled: param *= 1 - lr * weight_decay instead
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2         both start as zeros
//   param -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
// m and v are like param (f32 for 16-bit parameters), step is i64 [], lr a scalar of f32 or f64.
// Where skip (bool []; undefined: false) is true, nothing changes; the step may then be 0 still.
// With highest (defined: AMSGrad), highest = max(highest, v) takes v's place in the last line.
// Errors: ShapeError, DTypeError; ValueError when step is below 1 and for the options that
// check_options() refuses; StateError when param is on the tape and recording is on (do it under
// NoGrad), or is not contiguous.
// Sources: Kingma and Ba 2015; Loshchilov and Hutter 2019; Reddi, Kale and Kumar 2018.
void adam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                 const Tensor& step, const Tensor& lr, const AdamUpdate& options = {},
                 const Tensor& highest = {}, const Tensor& skip = {});

// ValueError, in the name of `op`, unless 0 <= beta1, beta2 < 1 and eps, weight_decay >= 0.
void check_options(const char* op, const AdamUpdate& options);

}  // namespace plimsoll
