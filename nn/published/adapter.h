// Adapters in PEFT's form: a folder with adapter_config.json and adapter_model.safetensors.
//
//   const nn::LoraOptions lora = published::read_adapter_options("runs/a/adapter");
//   const auto model = published::load("models/SmolLM-135M", init, {.lora = lora});
//   published::read_adapter("runs/a/adapter", *model);
//   published::write_adapter("runs/b/adapter", *model, lora, "models/SmolLM-135M");
//
// LoRA of the matrices of a model, without biases of its own and with one rank for all: what else
// PEFT does is refused by the name of its field.
#pragma once

#include <filesystem>

#include "nn/decoder/decoder.h"

namespace plimsoll::published {

// DataError naming the file and the field.
nn::LoraOptions parse_adapter_options(std::string_view json, const std::string& file);
nn::LoraOptions read_adapter_options(const std::filesystem::path& folder);

// Overwrites the adapters of a model that was made with those options. All or nothing: DataError
// naming a tensor that is missing, left over or of another shape, as in an adapter of another base.
void read_adapter(const std::filesystem::path& folder, const nn::Decoder& model);

// Makes the folder, which is there whole or not at all. `base` is what the config calls the model
// below. DataError where it is there already, or the disk does not take it.
void write_adapter(const std::filesystem::path& folder, const nn::Decoder& model,
                   const nn::LoraOptions& options, const std::string& base);

}  // namespace plimsoll::published
