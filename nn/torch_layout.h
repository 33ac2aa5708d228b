// A model's tensors under PyTorch's names and in its layouts, and back: what state_dict() of the
// same model in Python returns, and what its load_state_dict(strict=True) takes.
//
//   formats::write_safetensors("model.safetensors", nn::torch_state(model));
//   nn::load_torch_state(model, formats::read_safetensors("model.safetensors"));
//
//   Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d    weight: the last axis becomes the second
//   LayerNorm, GroupNorm, RMSNorm, BatchNorm2d          weight, bias for gamma, beta
//   BatchNorm2d                                         running_var for running_variance
//   LearnedPositions                                    weight for table, as of torch's Embedding
//   MultiHeadAttention   as torch.nn.MultiheadAttention: in_proj_weight, out_proj.weight, ...
//   TransformerBlock     as torch.nn.TransformerEncoderLayer: self_attn, linear1, linear2
//
// All others have the same names and layouts there. A Linear behind a flattened image is told by
// TorchLayout, as PyTorch flattens [C, H, W]. A tensor that two modules share is there once, where
// it is registered: Python names it once too, or adds the second name when it loads.
#pragma once

#include <map>

#include "nn/module.h"

namespace plimsoll::nn {

struct TorchLayout {
  // Linear modules, by name, whose input is a flattened image [H, W, C]: {{"dense.1", {7, 7, 64}}}.
  std::map<std::string, Shape> flattened = {};
  // Parts of the names above and what stands for them there, each looked for in what the ones
  // before have left: {{"block", "h."}, {"norm1.", "ln_1."}}.
  std::vector<std::pair<std::string, std::string>> renames = {};
  // Matrices that lie there as [in, out]: how their names end there.
  std::vector<std::string> transposed = {};
};

// Parameters and buffers, in the order of the modules. They look into the model's own memory, with
// other strides where the layout differs; weights behind a flattened image are copies. A
// BatchNorm2d has a num_batches_tracked, which only counts there: 0. ValueError for a flattened
// image that is not the input of a Linear of that name, and for a transposed tensor that is no
// matrix.
std::vector<NamedTensor> torch_state(const Module& module, const TorchLayout& layout = {});

// Overwrites every parameter and buffer in place, on any device, in its own floating type. All or
// nothing: whatever changes its layout, type or device is converted before the first is written.
// ValueError: names that are missing or left over (except num_batches_tracked), other shapes, other
// types that are not floating. OutOfMemory.
void load_torch_state(const Module& module, std::span<const NamedTensor> state,
                      const TorchLayout& layout = {});

}  // namespace plimsoll::nn
