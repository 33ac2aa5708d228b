// Gradient checkpointing: keep the inputs of a piece of a model, not what happens inside it; the
// backward pass runs the piece again (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
// 2016). It costs one more forward pass and changes no bit of any gradient.
//
//   const auto mlp = [](std::span<const Tensor> in) {
//     return linear(gelu(linear(in[0], in[1])), in[2]);
//   };
//   Tensor y = checkpoint(mlp, std::array{x, w1, w2});
//
// For a module there is nn::checkpointed().
#pragma once

#include <functional>
#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

using CheckpointFunction = std::function<Tensor(std::span<const Tensor>)>;

// f(xs), recomputed in the backward pass. Gradients reach exactly the tensors in xs, so whatever
// else f uses and should be trained (parameters, through its closure) must be among them too; at
// most 62 tensors. The backward pass throws StateError where f used another tensor on the tape. f
// must compute the same again when it is called again: randomness comes from
// keys, and ops that write in place (running statistics) are left out the second time.
Tensor checkpoint(const CheckpointFunction& f, std::span<const Tensor> xs);

}  // namespace plimsoll
