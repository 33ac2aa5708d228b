// Full weights as Hugging Face's folder, which transformers reads.
//
//   published::write_model("out", *model, "models/SmolLM-135M");
//
// model.safetensors has every weight by its published name, adapters merged into theirs; weights in
// fewer bits are dequantised, so that they are the model that was trained, in the table's type;
// config.json is that of the folder the model came from, with the type of the weights as it is now;
// files of a tokenizer are copied.
#pragma once

#include <filesystem>

#include "nn/decoder/decoder.h"

namespace plimsoll::published {

// The weights by their published names, those with adapters merged.
std::vector<NamedTensor> merged_weights(const nn::Decoder& model);

// Makes the folder, which is there whole or not at all. DataError where it is there already, the
// disk does not take it, or the config of `from` is of another model.
void write_model(const std::filesystem::path& folder, const nn::Decoder& model,
                 const std::filesystem::path& from);

}  // namespace plimsoll::published
