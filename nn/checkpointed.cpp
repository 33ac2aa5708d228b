#include "nn/checkpointed.h"

#include <array>

#include "autograd/checkpoint.h"

namespace plimsoll::nn {

Tensor checkpointed(const Module& module, const Tensor& x, const Mode& mode) {
  if (mode.cache) return module(x, mode);  // nothing is kept: there is no backward pass
  // The mode's tensors are inputs too: their bytes change from step to step, and only what is among
  // the inputs is kept, and guarded against being overwritten before the backward pass.
  std::vector<Tensor> xs{x};
  std::array<size_t, 3> at{};  // of key, positions and segments; 0: undefined
  for (size_t i = 0; const Tensor* tensor : {&mode.key, &mode.positions, &mode.segments}) {
    if (tensor->defined()) {
      at[i] = xs.size();
      xs.push_back(*tensor);
    }
    ++i;
  }
  for (Tensor& parameter : module.parameters()) xs.push_back(std::move(parameter));
  const auto run = [&module, training = mode.training, statistics = mode.statistics,
                    at](std::span<const Tensor> in) {
    const auto given = [&](size_t i) { return i > 0 ? in[i] : Tensor(); };
    return module(in[0], {.training = training,
                          .key = given(at[0]),
                          .positions = given(at[1]),
                          .segments = given(at[2]),
                          .statistics = statistics});
  };
  return checkpoint(run, xs);
}

}  // namespace plimsoll::nn
