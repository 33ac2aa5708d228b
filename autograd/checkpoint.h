// Gradient checkpointing: keep the inputs of a piece of a model, not what happens inside it; the
// backward pass runs the piece again (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
// 2016). It costs one more forward pass and changes no bit of any gradient.
//
//   Tensor y = checkpoint([&](std::span<const Tensor> in) { return block(in[0]); },
//                         with(block.parameters(), x));
#pragma once

#include <functional>
#include <span>

#include "core/tensor.h"

namespace plimsoll {

using CheckpointFunction = std::function<Tensor(std::span<const Tensor>)>;

// f(xs), recomputed in the backward pass. Gradients reach exactly the tensors in xs, so whatever
// else f uses and should be trained (parameters, through its closure) must be among them too; at
// most 62 tensors. f must compute the same again when it is called again: randomness comes from
// keys, and ops that write in place (running statistics) are left out the second time.
Tensor checkpoint(const CheckpointFunction& f, std::span<const Tensor> xs);

}  // namespace plimsoll
