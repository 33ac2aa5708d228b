// One step of gradient descent with momentum on one parameter, in place, with the velocity in 8
// bits: a quarter of its bytes in f32, and a scale for each 256 elements.
//
//   increment(step);                                  // once for all parameters: 1, 2, 3, ...
//   sgd8_update(w, dw, {velocity, scales}, step, lr, {.momentum = 0.9});
#pragma once

#include "ops/common/coded_slot.h"
#include "ops/update/sgd_update/sgd_update.h"

namespace plimsoll {

// The formulas of sgd_update() (ops/update/sgd_update), on a velocity that is decoded before and
// coded after; the parameter moves by the velocity as it is before it is coded. Errors: those of
// sgd_update(), and DTypeError or ShapeError for codes and scales that are not those of a parameter
// (ops/common/coded_slot.h).
// Source: Dettmers, Lewis, Shleifer and Zettlemoyer, "8-bit Optimizers via Block-wise
// Quantization", 2022.
void sgd8_update(const Tensor& param, const Tensor& grad, const CodedSlot& velocity,
                 const Tensor& step, const Tensor& lr, const SgdUpdate& options,
                 const Tensor& skip = {});

}  // namespace plimsoll
