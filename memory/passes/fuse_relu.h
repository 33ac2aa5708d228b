// relu in the kernel of the op before it: what is normalised need not be written, read and written
// again, and neither need its gradient.
//
//   program = fuse_relu(std::move(program));
//
//   captured   z = batch_norm(x)   y = relu(z)   ...   dz = relu_grad(dy, y)   dx = ...(dz, x)
//   fused      y = batch_norm_relu(x)            ...            dx = batch_norm_relu_grad(dy, x)
//
// Where y is positive the second finds out from x. Every value that is left has the bits it had;
// NaN stays NaN. In f64 nothing is fused: products of f64 are rounded, and a compiler may add them
// to their sum in one rounding or in two, in one kernel so and in the other not.
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Takes the form with relu (OpDef::with_relu) where nobody else reads what lies between the two,
// and for the gradient where that was done. Buffers that are then in no operand stay. Buffers must
// not share memory.
Program fuse_relu(Program program);

}  // namespace plimsoll
