// adapter_config.json, as PEFT writes it.
#include "nn/published/adapter.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { published::parse_adapter_options(bytes, "f"); });
}

std::vector<std::string> seeds() {
  return {R"({"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "lora_alpha": 16,)"
          R"( "lora_dropout": 0.1, "bias": "none", "use_rslora": true, "target_modules":)"
          R"( ["q_proj", "v_proj"], "rank_pattern": {}, "init_lora_weights": "gaussian"})",
          R"({"peft_type": "LORA", "r": 1, "lora_alpha": 0.5, "target_modules": "all-linear",)"
          R"( "modules_to_save": null, "peft_version": "0.1"})"};
}

std::vector<std::string> words() {
  return {"{",     "}",     "[",    "]",  ",",     ":",
          "\"",    "null",  "true", "-1", "1e999", "9223372036854775808",
          "\"r\"", "0.999", "[]",   "{}", "\"\"",  "\"use_dora\": true, ",
          "1e-320"};
}

}  // namespace plimsoll::fuzz
