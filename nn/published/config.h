// config.json as Hugging Face's transformers writes it, of the models that are read here.
//
//   const published::Config config = published::read_config("models/SmolLM-135M");
//   std::printf("%lld layers\n", config.decoder.layers);
//
//   GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM
//
// Every field is taken, known to be of no account for the numbers, or refused by its name. Fields
// of versions 4 and 5: rope_theta and rope_scaling, or both in rope_parameters; torch_dtype or
// dtype. What old files leave out has the value that transformers gives it, where that is the same
// in all versions; all else must be there.
#pragma once

#include <filesystem>

#include "core/base/dtype.h"
#include "nn/decoder/decoder_config.h"

namespace plimsoll::published {

struct Config {
  nn::DecoderConfig decoder;
  DType dtype = DType::f32;   // of the weights in the files
  std::vector<int64_t> ends;  // eos_token_id: tokens that end a text; empty: none is named
};

// The architectures, for messages.
const std::vector<std::string>& architectures();

// Of a folder. DataError naming the file and the field: missing fields, sizes that do not fit each
// other, architectures and settings that are not done here.
Config read_config(const std::filesystem::path& folder);
Config parse_config(std::string_view json, const std::string& file);

}  // namespace plimsoll::published
