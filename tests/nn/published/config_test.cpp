// config.json: forms of several versions of transformers, and what is refused.
#include "nn/published/config.h"

#include "tests/nn/published/small_folder.h"
#include "tests/support/errors.h"

namespace plimsoll::published {
namespace {

using nn::DecoderConfig;
using nn::RotaryScaling;

DecoderConfig parsed(const std::string& old, const std::string& text) {
  return parse_config(config_with(old, text), "f").decoder;
}

std::string refusal(const std::string& old, const std::string& text) {
  return error_of<DataError>([&] { parse_config(config_with(old, text), "f"); });
}

const std::string kPublished = ". Use the file as it was published.";

TEST(PublishedConfig, VersionsOfTransformersSayTheSame) {
  const Config old = parse_config(kSmallConfig, "f");
  EXPECT_EQ(old.decoder.width, 16);
  EXPECT_EQ(old.decoder.head_width, 4);
  EXPECT_EQ(old.decoder.kv_heads, 2);
  EXPECT_EQ(old.dtype, DType::f32);
  EXPECT_EQ(old.ends, std::vector<int64_t>{2});
  EXPECT_EQ(parsed("\"rope_theta\": 10000.0, \"rope_scaling\": null",
                   "\"rope_parameters\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}"),
            old.decoder);
  EXPECT_EQ(parsed("\"rope_theta\": 10000.0, ", ""), old.decoder);
  EXPECT_EQ(parsed("\"attention_bias\": false,", "\"attention_bias\": null,"), old.decoder);
  EXPECT_EQ(
      parse_config(config_with("\"torch_dtype\": \"float32\"", "\"dtype\": \"bfloat16\""), "f")
          .dtype,
      DType::bf16);
  EXPECT_EQ(parse_config(config_with("\"eos_token_id\": 2", "\"eos_token_id\": [2, 7]"), "f").ends,
            (std::vector<int64_t>{2, 7}));
  const DecoderConfig linear =
      parsed("\"rope_scaling\": null", R"("rope_scaling": {"type": "linear", "factor": 2.0})");
  EXPECT_EQ(linear.rotary.scaling, RotaryScaling::linear);
  EXPECT_EQ(linear.rotary.factor, 2);
  EXPECT_EQ(parsed("\"rope_theta\": 10000.0, \"rope_scaling\": null",
                   R"("rope_parameters": {"rope_theta": 10000, "rope_type": "linear",)"
                   R"( "factor": 2})"),
            linear);
  // All keys in the first llamas: as many heads of keys as of queries.
  EXPECT_EQ(parsed("\"num_key_value_heads\": 2, ", "").kv_heads, 4);
}

TEST(PublishedConfig, WindowsOfLayers) {
  const auto with = [](const std::string& architecture, const std::string& more) {
    std::string config = config_with("LlamaForCausalLM", architecture);
    config = config_with("\"attention_bias\": false,", more, config);
    return parse_config(config, "f").decoder.windows;
  };
  using Windows = std::vector<int64_t>;
  EXPECT_EQ(with("MistralForCausalLM", "\"sliding_window\": 8, "), (Windows{8, 8}));
  EXPECT_EQ(with("MistralForCausalLM", "\"sliding_window\": null, "), Windows());
  const std::string qwen = "Qwen2ForCausalLM";
  EXPECT_EQ(with(qwen, "\"use_sliding_window\": false, \"sliding_window\": 8, "), Windows());
  EXPECT_EQ(with(qwen,
                 "\"use_sliding_window\": true, \"sliding_window\": 8, "
                 "\"max_window_layers\": 1, "),
            (Windows{0, 8}));
  EXPECT_EQ(with(qwen,
                 "\"use_sliding_window\": true, \"sliding_window\": 8, \"layer_types\": "
                 "[\"sliding_attention\", \"full_attention\"], "),
            (Windows{8, 0}));
  EXPECT_EQ(error_of<DataError>([&] { with(qwen, "\"use_sliding_window\": true, "); }),
            "config: a field is missing: f has no sliding_window. null says that there is none.");
  EXPECT_EQ(with(qwen, "\"use_sliding_window\": true, \"sliding_window\": null, "), Windows());
  EXPECT_EQ(
      error_of<DataError>(
          [&] { with(qwen, "\"use_sliding_window\": true, \"sliding_window\": 0, "); }),
      "config: the window has no keys: f has sliding_window 0. null says that there is none.");
  EXPECT_EQ(error_of<DataError>([&] { with("MistralForCausalLM", ""); }),
            "config: a field is missing: f has no sliding_window. null says that there is none.");
  EXPECT_EQ(error_of<DataError>([&] {
              with(qwen, "\"layer_types\": [\"sliding_attention\", \"full_attention\"], ");
            }),
            "config: there is no window for a sliding_attention: f has layer_types "
            "[\"sliding_attention\",\"full_attention\"" +
                std::string("]. Use the file as it was published."));
}

TEST(PublishedConfig, RefusesSizesThatOverflow) {
  for (const char* name : {"hidden_size\": 16", "num_hidden_layers\": 2", "vocab_size\": 300",
                           "intermediate_size\": 24", "max_position_embeddings\": 64"}) {
    const std::string field(name), size = field.substr(0, field.find(' ') + 1) + "1099511627776";
    EXPECT_NE(refusal(field, size).find("too "), std::string::npos) << refusal(field, size);
  }
}

// Each layer has a window, and there are as many as the file says.
TEST(PublishedConfig, RefusesLayersBeforeTheyHaveWindows) {
  EXPECT_EQ(refusal("\"num_hidden_layers\": 2",
                    "\"num_hidden_layers\": 4000000000, \"sliding_window\": 8"),
            "config: there are too many layers: f has num_hidden_layers 4000000000. Use at most "
            "10000.");
}

TEST(PublishedConfig, RefusesWhatIsNotKnownByName) {
  EXPECT_EQ(refusal("LlamaForCausalLM", "PhiForCausalLM"),
            "config: this architecture is not known: f has architectures [\"PhiForCausalLM\"]. "
            "Those known are GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, "
            "Qwen2ForCausalLM, Qwen3ForCausalLM.");
  EXPECT_EQ(refusal("[\"LlamaForCausalLM\"]", "null"),
            "config: there is not one architecture: f has architectures null" + kPublished);
  EXPECT_EQ(refusal("\"use_cache\": true", "\"logit_scale\": 0.5"),
            "config: a field of LlamaForCausalLM is not known, and may change its numbers: f has "
            "logit_scale 0.5. Take it out if it does not.");
  EXPECT_EQ(refusal("\"use_cache\": true", "\"quantization_config\": {\"bits\": 4}"),
            "config: this is not done here: f has quantization_config {\"bits\":4}. Only null is.");
  EXPECT_EQ(refusal("\"silu\"", "\"mish\""),
            "config: this activation is not known: f has hidden_act \"mish\". Those known are "
            "silu, gelu, gelu_new, gelu_pytorch_tanh and relu.");
  EXPECT_EQ(refusal("\"rope_scaling\": null", R"("rope_scaling": {"type": "longrope"})"),
            "config: this scaling of positions is not done here: f has type \"longrope\". Only "
            "default, linear, dynamic, llama3 and yarn are.");
  EXPECT_EQ(refusal("\"rope_scaling\": null",
                    R"("rope_scaling": {"type": "linear", "factor": 2, "low": 1})"),
            "config: a field of rotary positions is not known, and may change its numbers: f has "
            "low 1. Take it out if it does not.");
  EXPECT_EQ(refusal("\"use_cache\": true", "\"pretraining_tp\": 2"),
            "config: this is not done here: f has pretraining_tp 2. Only 1 is.");
  EXPECT_EQ(refusal("\"float32\"", "\"int8\""),
            "config: this type is not known: f has torch_dtype \"int8\". Those known are float32, "
            "bfloat16, float16 and float64.");
}

TEST(PublishedConfig, RefusesConfigsThatLie) {
  EXPECT_EQ(
      refusal("\"num_attention_heads\": 4", "\"num_attention_heads\": 3"),
      "config: the heads do not divide the width 16: f has num_attention_heads 3" + kPublished);
  EXPECT_EQ(refusal("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"),
            "config: f: decoder: 3 heads of keys do not divide 4 heads of queries. Give one for "
            "each group of queries.");
  EXPECT_EQ(refusal("\"num_attention_heads\": 4", "\"num_attention_heads\": 16"),
            "config: f: decoder: the heads are not of an even width: 1. Rotary positions turn "
            "pairs of features.");
  EXPECT_EQ(refusal("\"hidden_size\": 16, ", ""),
            "config: a field is missing: f has no hidden_size" + kPublished);
  EXPECT_EQ(refusal("\"rms_norm_eps\": 1e-5", "\"rms_norm_eps\": null"),
            "config: a field is missing: f has rms_norm_eps null" + kPublished);
  EXPECT_EQ(refusal("\"vocab_size\": 300", "\"vocab_size\": \"many\""),
            "config: a field is no whole number from 0 on: f has vocab_size \"many\"" + kPublished);
  EXPECT_EQ(refusal("\"vocab_size\": 300", "\"vocab_size\": 0"),
            "config: f: decoder: the vocabulary, width, layers, feed-forward and context are not "
            "all positive: [0, 16, 2, 24, 64]. Use sizes of at least 1.");
  EXPECT_EQ(refusal("\"vocab_size\": 300", "\"vocab_size\": 1e300"),
            "config: a field is no whole number from 0 on: f has vocab_size 1e+300" + kPublished);
  EXPECT_EQ(refusal("\"rope_theta\": 10000.0", "\"rope_theta\": 0"),
            "config: this is not above 1: f has rope_theta 0" + kPublished);
  EXPECT_EQ(refusal("\"use_cache\": true", "\"vocab_size\": 3"),
            "config: a key is there twice: f has \"vocab_size\"" + kPublished);
  EXPECT_EQ(error_of<DataError>([] { parse_config("{\"a\": ", "f"); }),
            "config: the JSON cannot be read: f at byte 7" + kPublished);
  EXPECT_EQ(error_of<DataError>([] { parse_config("[]", "f"); }),
            "config: this is no JSON object: f" + kPublished);
}

}  // namespace
}  // namespace plimsoll::published
