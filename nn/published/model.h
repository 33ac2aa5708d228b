// A published model from its folder: config.json and safetensors files.
//
//   nn::Initializer init{.seed = 1};
//   const auto model = published::load("models/SmolLM-135M", init);
//   Tensor logits = (*model)(ids);                     // i64 [B, T] -> [B, T, V]
//
//   const auto shapes = published::plan(config, init);     // of config.json alone, for plans
//
// The weights lie in the mapped files as long as the model lives, in the type that they have there:
// what is copied are norms of 16 bits, those in fewer bits, tensor by tensor while they are read,
// and all of them where they are trained or leave the cpu.
#pragma once

#include "nn/decoder/decoder.h"
#include "nn/published/config.h"

namespace plimsoll::published {

// The files may have the names with their prefix or without. What no decoder has a use for is
// known: constants that older files have among the weights, and an output layer that is the token
// table once more. DataError of the files, or naming a tensor: missing, left over, of another
// shape, no floating type; ValueError as Decoder's.
std::unique_ptr<nn::Decoder> load(const std::filesystem::path& folder, nn::Initializer& init,
                                  const nn::DecoderOptions& options = {});

// The same without weights: for the device without bytes. They count in the type that the config
// names.
std::unique_ptr<nn::Decoder> plan(const Config& config, nn::Initializer& init,
                                  const nn::DecoderOptions& options = {});

}  // namespace plimsoll::published
