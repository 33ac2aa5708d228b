// config.json of a published model.
#include "nn/published/config.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { published::parse_config(bytes, "f"); });
}

std::vector<std::string> seeds() {
  const std::string llama =
      R"("vocab_size": 300, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,)"
      R"( "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,)"
      R"( "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu")";
  return {cat(R"({"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16",)",
              R"( "eos_token_id": [1, 2], "mlp_bias": true, "rope_scaling": {"type": "llama3",)",
              R"( "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,)",
              R"( "original_max_position_embeddings": 32}, )", llama, "}"),
          cat(R"({"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": true,)",
              R"( "sliding_window": 8, "max_window_layers": 1, "rope_scaling": {"rope_type":)",
              R"( "yarn", "factor": 2.0, "original_max_position_embeddings": 32}, )", llama, "}"),
          R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 16, "n_layer": 2, "n_head": 2,)"
          R"( "n_positions": 32, "vocab_size": 300})"};
}

std::vector<std::string> words() {
  return {"{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "\"",
          "null",
          "true",
          "1e999",
          "-1",
          "0",
          "1e-320",
          "9223372036854775807",
          "18446744073709551616",
          "\"MistralForCausalLM\"",
          "\"Qwen3ForCausalLM\"",
          "\"sliding_window\": 4, ",
          "\"head_dim\": 3, ",
          "\"layer_types\": [\"full_attention\"], ",
          "\"rope_type\": \"dynamic\"",
          "\"dtype\": \"float64\", "};
}

}  // namespace plimsoll::fuzz
