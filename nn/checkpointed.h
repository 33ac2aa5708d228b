// checkpoint() for a module: of all that happens inside it, the forward pass keeps nothing.
//
//   Tensor y = nn::checkpointed(block, x, mode);       // instead of block(x, mode)
//
// The same bits, forward and backward, for one more forward pass: dropout draws the same mask again
// from mode.key, and running statistics are updated by the first pass only. The module and
// mode.statistics must live until the backward pass has run. ValueError for modules with more than
// 60 parameters.
// The backward pass throws StateError where the module uses a tensor on the tape that is not among
// its parameters, such as another module's weight: checkpoint both together then.
#pragma once

#include "nn/module.h"

namespace plimsoll::nn {

Tensor checkpointed(const Module& module, const Tensor& x, const Mode& mode = {});

}  // namespace plimsoll::nn
