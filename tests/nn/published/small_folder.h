// A small published folder made here: Llama's config and weights that are drawn.
//
//   const fs::path folder = small_folder(dir);
//   write_config(folder, "\"hidden_size\": 16", "\"hidden_size\": 17");
#pragma once

#include <fstream>

#include "formats/safetensors.h"
#include "nn/published/export.h"
#include "nn/published/model.h"
#include "tests/data/testing.h"

namespace plimsoll::published {

inline const char* const kSmallConfig = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 300,
  "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
  "rope_theta": 10000.0, "rope_scaling": null, "hidden_act": "silu", "attention_bias": false,
  "tie_word_embeddings": false, "torch_dtype": "float32", "use_cache": true,
  "bos_token_id": 1, "eos_token_id": 2})";

// The config with `text` in place of `old`.
inline std::string config_with(const std::string& old = "", const std::string& text = "",
                               std::string config = kSmallConfig) {
  if (old.empty()) return config;
  const size_t at = config.find(old);
  EXPECT_NE(at, config.npos) << old;
  return config.replace(at, old.size(), text);
}

inline std::vector<NamedTensor> small_weights(const std::string& config = kSmallConfig) {
  nn::Initializer init{.seed = 1};
  const nn::DecoderConfig decoder = parse_config(config, "f").decoder;
  return merged_weights(nn::Decoder(decoder, nn::drawn_weights(init), init));
}

inline std::filesystem::path small_folder(const data::TemporaryFolder& dir,
                                          const std::string& name = "model",
                                          const std::string& config = kSmallConfig) {
  const std::filesystem::path folder = dir / name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config;
  formats::write_safetensors(folder / "model.safetensors", small_weights(config));
  return folder;
}

}  // namespace plimsoll::published
