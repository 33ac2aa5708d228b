#include "nn/checkpointed.h"

#include "autograd/checkpoint.h"

namespace plimsoll::nn {

Tensor checkpointed(const Module& module, const Tensor& x, const Mode& mode) {
  if (mode.cache) return module(x, mode);  // nothing is kept: there is no backward pass
  // The key is an input too: its bytes change from step to step, and only what is among the inputs
  // is kept, and guarded against being overwritten before the backward pass.
  const bool keyed = mode.key.defined();
  std::vector<Tensor> xs{x};
  if (keyed) xs.push_back(mode.key);
  for (Tensor& parameter : module.parameters()) xs.push_back(std::move(parameter));
  const auto run = [&module, training = mode.training, keyed](std::span<const Tensor> in) {
    return module(in[0], {.training = training, .key = keyed ? in[1] : Tensor()});
  };
  return checkpoint(run, xs);
}

}  // namespace plimsoll::nn
