// Staged: a model as stages one after another, the units that --checkpoint works on: of a stage
// only its input is kept, the backward pass runs it again. The last stage is never checkpointed:
// its backward pass begins at once, so recomputing it would save nothing.
//
//   Staged model(options.checkpoint);
//   model.stage<Block>("block1", ...);
//   Tensor logits = model(x, nn::training(key));
#pragma once

#include "nn/checkpointed.h"
#include "nn/module.h"

namespace plimsoll::examples {

class Staged : public nn::Module {
 public:
  explicit Staged(bool checkpoint) : checkpoint_(checkpoint) {}

  // Appends a stage made from the arguments of its constructor.
  template <std::derived_from<nn::Module> M, class... Args>
  M& stage(const std::string& name, Args&&... args) {
    M& module = add<M>(name, std::forward<Args>(args)...);
    stages_.push_back(&module);
    return module;
  }

  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor y = x;
    for (const nn::Module* stage : stages_)
      y = checkpoint_ && mode.training && stage != stages_.back()
              ? nn::checkpointed(*stage, y, mode)
              : (*stage)(y, mode);
    return y;
  }

 private:
  bool checkpoint_;
  std::vector<const nn::Module*> stages_;
};

}  // namespace plimsoll::examples
