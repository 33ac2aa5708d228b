// What the ops that update parameters share. They write their inputs in place and have no outputs;
// what changes from step to step (learning rate, step count) reaches them as tensors.
#pragma once

#include "core/op.h"

namespace plimsoll {

// The dtype of optimizer state (velocities, moments): f64 for f64 parameters, else f32, since
// 16 bits would lose the small changes that a running mean is made of.
DType state_dtype(DType parameter);

// `gradient` is like `parameter`, `state` has its shape and state_dtype(): ShapeError, DTypeError.
void check_gradient(const char* op, const Meta& parameter, const Meta& gradient);
void check_state(const char* op, const char* name, const Meta& parameter, const Meta& state);

// A scalar tensor of f32 or f64, such as the learning rate: ShapeError, DTypeError.
void check_scalar(const char* op, const char* name, const Meta& scalar);
double read_scalar(const View& scalar);

}  // namespace plimsoll
