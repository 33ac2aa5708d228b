// --weights and --export: a model's weights in a safetensors file, with the names and layouts that
// other programs give them: torchvision those of resnet50 and resnet18-cifar, Hugging Face those of
// gpt2-124M, PyTorch those of the same modules (nn/torch_layout.h) for all others.
//
//   const Weights weights(options, cnn_torch_layout(options.model, image));
//   weights.read(*model);
#pragma once

#include "examples/common/options.h"
#include "nn/torch_layout.h"

namespace plimsoll::examples {

void add_weight_options(CommandLine& app, Options& options);

class Weights {
 public:
  // Refuses an --export that could not be written later: UsageError.
  Weights(const Options& options, nn::TorchLayout layout);

  // Reads --weights, if there is one, into the model; not where training goes on: the state that
  // --resume restores has them all. A prefix "transformer." of all names and the masks among
  // GPT-2's tensors (h.0.attn.bias) are left out. UsageError for a save of a run; DataError, with
  // the option in front, for a file that is not there, damaged or of another model.
  void read(const nn::Module& model) const;
  // Writes --export, if there is one: for when training is over; nothing after --plan-only.
  // DataError when the disk does not take it.
  void write(const nn::Module& model) const;

 private:
  std::string from_, to_;
  nn::TorchLayout layout_;
};

}  // namespace plimsoll::examples
