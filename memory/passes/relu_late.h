// relu behind the max pool that follows it: it then has a quarter of the numbers to read, or as
// many as the pool leaves, and what it made of all is not there until its gradient.
//
//   program = relu_late(std::move(program));
//
//   captured   t = relu(x)  v, places = max_pool2d(t)  ...  dt = max_pool2d_grad(dv, places)
//                                                           dx = relu_grad(dt, t)
//   after it   q, places = max_pool2d(x)  v = relu(q)  ...  dq = relu_grad(dv, v)
//                                                           dx = max_pool2d_grad(dq, places)
//
// The largest number of a window is the same before relu and after it. Where none is positive
// another one may win, which is told nothing: every value that is left has the bits it had.
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Changes the places (OpDef::relu_after) where that takes less memory and nobody else reads what
// lies between. Buffers must not share memory.
Program relu_late(Program program);

}  // namespace plimsoll
