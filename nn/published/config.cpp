#include "nn/published/config.h"

#include <algorithm>
#include <cmath>

#include "data/file.h"
#include "data/json.h"
#include "nn/published/fields.h"

namespace plimsoll::published {
namespace {

using Json = nlohmann::json;
using nn::DecoderActivation;
using nn::DecoderConfig;
using nn::RotaryOptions;
using nn::RotaryScaling;

constexpr int64_t kMostLayers = 10'000;
constexpr const char* kAsPublished = "Use the file as it was published.";

DecoderActivation activation_of(Fields& fields, const std::string& name,
                                const std::string& instead) {
  using enum DecoderActivation;
  static const std::vector<std::pair<std::string, DecoderActivation>> known{
      {"silu", silu},          {"swish", silu}, {"gelu", gelu},
      {"gelu_new", gelu_tanh}, {"relu", relu},  {"gelu_pytorch_tanh", gelu_tanh},
      {"gelu_fast", gelu_tanh}};
  const std::string text = fields.text(name, instead);
  const auto found =
      std::ranges::find(known, text, &std::pair<std::string, DecoderActivation>::first);
  if (found == known.end())
    fields.refuse(name, "this activation is not known",
                  "Those known are silu, gelu, gelu_new, gelu_pytorch_tanh and relu.");
  return found->second;
}

// How rotary positions are stretched: of `rope`, which has the fields of rope_scaling or of
// rope_parameters.
void read_scaling(Fields& rope, int64_t context, RotaryOptions& o) {
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  rope.ignore({"type"});
  rope.only("partial_rotary_factor", 1.0);
  if (type == "default") {
    rope.ignore({"factor"});
    return;
  }
  const auto original = [&] { return rope.whole("original_max_position_embeddings", context); };
  if (type == "dynamic") {
    // Up to max_position_embeddings the base stays as it is, and longer sequences are refused: of
    // those transformers' numbers depend on what was read before.
    rope.ignore({"factor", "original_max_position_embeddings"});
  } else if (type == "linear") {
    o.scaling = RotaryScaling::linear;
    o.factor = rope.number("factor");
    rope.ignore({"original_max_position_embeddings"});
  } else if (type == "llama3") {
    o.scaling = RotaryScaling::llama3;
    o.factor = rope.number("factor");
    o.low = rope.number("low_freq_factor");
    o.high = rope.number("high_freq_factor");
    o.original_context = original();
    if (!(o.low > 0 && o.high > o.low))
      rope.refuse("high_freq_factor", "this is not above low_freq_factor", kAsPublished);
  } else if (type == "yarn") {
    o.scaling = RotaryScaling::yarn;
    o.original_context = original();
    o.factor =
        rope.number("factor", static_cast<double>(context) /
                                  static_cast<double>(std::max<int64_t>(1, o.original_context)));
    o.fast = rope.number("beta_fast", 32);
    o.slow = rope.number("beta_slow", 1);
    o.whole = rope.truth("truncate", true);
    const double scale = rope.number("mscale", 0), all = rope.number("mscale_all_dim", 0);
    const auto grown = [&](double by) {
      return o.factor <= 1 ? 1.0 : 0.1 * by * std::log(o.factor) + 1;
    };
    const double own = scale != 0 && all != 0 ? grown(scale) / grown(all) : grown(1);
    o.magnitude = rope.number("attention_factor", own);
    if (!(o.fast > o.slow && o.slow > 0))
      rope.refuse("beta_fast", "this is not above beta_slow", kAsPublished);
  } else {
    rope.refuse(rope.has("rope_type") ? "rope_type" : "type",
                "this scaling of positions is not done here",
                "Only default, linear, dynamic, llama3 and yarn are.");
  }
  if (o.factor < 1) rope.refuse("factor", "this is below 1", kAsPublished);
  const bool known = o.original_context > 0 || o.scaling == RotaryScaling::none ||
                     o.scaling == RotaryScaling::linear;
  if (!known) rope.refuse("original_max_position_embeddings", "this is below 1", kAsPublished);
}

RotaryOptions rotary_of(Fields& fields, int64_t context) {
  RotaryOptions options;
  const Json &scaling = fields.take("rope_scaling"), &parameters = fields.take("rope_parameters");
  options.base = fields.number("rope_theta", 10000);
  for (const Json* rope : {&scaling, &parameters}) {
    if (rope->is_null()) continue;
    if (!rope->is_object())
      fields.refuse(rope == &scaling ? "rope_scaling" : "rope_parameters", "this is no object",
                    kAsPublished);
    Fields inner(*rope, "config", fields.file());
    options.base = inner.number("rope_theta", options.base);
    read_scaling(inner, context, options);
    inner.check_all_taken("rotary positions");
  }
  if (options.base <= 1) fields.refuse("rope_theta", "this is not above 1", kAsPublished);
  return options;
}

// 0: there is none. Not there is not null: versions of transformers do not agree on what it is
// then.
int64_t window_of(Fields& fields) {
  if (!fields.knows("sliding_window"))
    fields.refuse("sliding_window", "a field is missing", "null says that there is none.");
  if (!fields.has("sliding_window")) return 0;
  const int64_t window = fields.whole("sliding_window");
  if (window == 0)
    fields.refuse("sliding_window", "the window has no keys", "null says that there is none.");
  return window;
}

// Of Qwen: those layers that layer_types names, or those behind max_window_layers.
std::vector<int64_t> windows_of(Fields& fields, int64_t layers) {
  const Json& types = fields.take("layer_types");
  const int64_t window = fields.truth("use_sliding_window", false) ? window_of(fields) : 0;
  const int64_t first = window > 0 && types.is_null() ? fields.whole("max_window_layers") : 0;
  fields.ignore({"sliding_window", "max_window_layers"});
  std::vector<int64_t> windows;
  if (!types.is_null() && (!types.is_array() || std::ssize(types) != layers))
    fields.refuse("layer_types", cat("there is not one for each of ", layers, " layers"),
                  kAsPublished);
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (types.is_null()) {
      windows.push_back(layer >= first ? window : 0);
      continue;
    }
    const Json& type = types[static_cast<size_t>(layer)];
    if (type != "full_attention" && type != "sliding_attention")
      fields.refuse("layer_types", "a layer is neither full_attention nor sliding_attention",
                    kAsPublished);
    if (type == "sliding_attention" && window == 0)
      fields.refuse("layer_types", "there is no window for a sliding_attention", kAsPublished);
    windows.push_back(type == "sliding_attention" ? window : 0);
  }
  return std::ranges::all_of(windows, [](int64_t w) { return w == 0; }) ? std::vector<int64_t>()
                                                                        : windows;
}

void read_gpt2(Fields& fields, DecoderConfig& c) {
  c.like_gpt2 = true;
  c.width = fields.whole("n_embd");
  c.layers = fields.whole("n_layer");
  c.heads = c.kv_heads = fields.whole("n_head");
  c.head_width = c.heads > 0 ? c.width / c.heads : 0;
  c.context = fields.whole("n_positions");
  c.feed_forward = fields.whole("n_inner", 4 * c.width);
  c.activation = activation_of(fields, "activation_function", "gelu_new");
  c.eps = fields.number("layer_norm_epsilon", 1e-5);
  c.qkv_bias = c.output_bias = c.mlp_bias = true;
  c.tied = fields.truth("tie_word_embeddings", true);
  c.embedding_dropout = fields.number("embd_pdrop", 0.1);
  c.attention_dropout = fields.number("attn_pdrop", 0.1);
  c.residual_dropout = fields.number("resid_pdrop", 0.1);
  c.scale_by_layer = fields.truth("scale_attn_by_inverse_layer_idx", false);
  fields.only("scale_attn_weights", true);
  fields.only("add_cross_attention", false);
  // The context once more, the order of roundings, and what other heads than a language model's do.
  fields.ignore({"n_ctx", "reorder_and_upcast_attn", "summary_type", "summary_use_proj",
                 "summary_activation", "summary_proj_to_labels", "summary_first_dropout"});
}

void read_llama(Fields& fields, DecoderConfig& c) {
  const bool mistral = c.architecture == "MistralForCausalLM";
  const bool qwen2 = c.architecture == "Qwen2ForCausalLM";
  const bool qwen3 = c.architecture == "Qwen3ForCausalLM";
  c.width = fields.whole("hidden_size");
  c.layers = fields.whole("num_hidden_layers");
  if (c.layers > kMostLayers)  // before any of them has a window
    fields.refuse("num_hidden_layers", "there are too many layers",
                  cat("Use at most ", kMostLayers, "."));
  c.heads = fields.whole("num_attention_heads");
  c.context = fields.whole("max_position_embeddings");
  c.feed_forward = fields.whole("intermediate_size");
  // The first Llamas have no such field; of the others the default has changed.
  const bool llama = !mistral && !qwen2 && !qwen3;
  c.kv_heads =
      llama ? fields.whole("num_key_value_heads", c.heads) : fields.whole("num_key_value_heads");
  if (!fields.has("head_dim") && !qwen3 && c.heads > 0 && c.width % c.heads != 0)
    fields.refuse("num_attention_heads", cat("the heads do not divide the width ", c.width),
                  kAsPublished);
  c.head_width = qwen3 ? fields.whole("head_dim")
                       : fields.whole("head_dim", c.width / std::max<int64_t>(1, c.heads));
  c.activation = activation_of(fields, "hidden_act", "silu");
  c.eps = fields.number("rms_norm_eps");
  c.tied = fields.truth("tie_word_embeddings", false);
  c.attention_dropout = fields.number("attention_dropout", 0);
  c.rotary = rotary_of(fields, c.context);
  c.qkv_bias = qwen2;
  if (llama || qwen3) c.qkv_bias = c.output_bias = fields.truth("attention_bias", false);
  if (llama) c.mlp_bias = fields.truth("mlp_bias", false);
  c.qk_norm = qwen3;
  if (mistral) {
    const int64_t window = window_of(fields);
    if (window > 0) c.windows.assign(static_cast<size_t>(c.layers), window);
  }
  if (qwen2 || qwen3) c.windows = windows_of(fields, c.layers);
  fields.only("pretraining_tp", 1);  // another order of roundings, for other hardware
  fields.only("rope_interleaved", false);
  fields.ignore({"is_llama_config"});
}

DType dtype_of(Fields& fields) {
  const std::string name = fields.text("dtype", fields.text("torch_dtype", "float32"));
  fields.ignore({"torch_dtype"});
  for (const auto& [theirs, ours] : {std::pair("float32", DType::f32),
                                     {"bfloat16", DType::bf16},
                                     {"float16", DType::f16},
                                     {"float64", DType::f64}})
    if (name == theirs) return ours;
  fields.refuse(fields.has("dtype") ? "dtype" : "torch_dtype", "this type is not known",
                "Those known are float32, bfloat16, float16 and float64.");
}

std::vector<int64_t> ends_of(Fields& fields) {
  const Json& ends = fields.take("eos_token_id");
  std::vector<int64_t> ids;
  for (const Json& end : ends.is_array() ? ends : Json::array({ends}))
    if (end.is_number_integer())
      ids.push_back(end.get<int64_t>());
    else if (!end.is_null())
      fields.refuse("eos_token_id", "this is no number of a token", kAsPublished);
  return ids;
}

}  // namespace

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> names{"GPT2LMHeadModel", "LlamaForCausalLM",
                                              "MistralForCausalLM", "Qwen2ForCausalLM",
                                              "Qwen3ForCausalLM"};
  return names;
}

Config parse_config(std::string_view json, const std::string& file) {
  const Json object = data::parse_object(json, {.reader = "config", .name = file});
  Fields fields(object, "config", file);
  const Json& names = fields.take("architectures");
  if (!names.is_array() || names.size() != 1 || !names[0].is_string())
    fields.refuse("architectures", "there is not one architecture", kAsPublished);
  Config config;
  DecoderConfig& c = config.decoder;
  c.architecture = names[0].get<std::string>();
  if (std::ranges::find(architectures(), c.architecture) == architectures().end()) {
    std::string known;
    for (const std::string& name : architectures()) known += (known.empty() ? "" : ", ") + name;
    fields.refuse("architectures", "this architecture is not known",
                  cat("Those known are ", known, "."));
  }
  c.vocabulary = fields.whole("vocab_size");
  c.architecture == "GPT2LMHeadModel" ? read_gpt2(fields, c) : read_llama(fields, c);
  config.dtype = dtype_of(fields);
  config.ends = ends_of(fields);
  fields.only("is_encoder_decoder", false);
  fields.only("is_decoder", false);
  fields.only("use_mrope", false);
  fields.only("quantization_config", nullptr);
  // What first weights were drawn from, how a text is written, and notes.
  fields.ignore({"model_type",
                 "transformers_version",
                 "use_cache",
                 "initializer_range",
                 "bos_token_id",
                 "pad_token_id",
                 "sep_token_id",
                 "unk_token_id",
                 "task_specific_params",
                 "output_past",
                 "gradient_checkpointing",
                 "auto_map",
                 "transformers.js_config",
                 "return_dict",
                 "output_hidden_states",
                 "output_attentions",
                 "id2label",
                 "label2id",
                 "problem_type",
                 "chunk_size_feed_forward",
                 "keys_to_ignore_at_inference",
                 "finetuning_task",
                 "tokenizer_class",
                 "prefix",
                 "max_length",
                 "do_sample",
                 "temperature",
                 "top_k",
                 "top_p"});
  fields.check_all_taken(c.architecture);
  try {
    nn::check_config(c);
  } catch (const ValueError& e) {
    fail<DataError>("config: ", file, ": ", e.what());
  }
  for (const auto& [share, name] :
       {std::pair(c.embedding_dropout, "embd_pdrop"),
        {c.residual_dropout, "resid_pdrop"},
        {c.attention_dropout, c.like_gpt2 ? "attn_pdrop" : "attention_dropout"}})
    if (!(share >= 0 && share < 1)) fields.refuse(name, "this is no share below 1", kAsPublished);
  if (!(c.eps >= 0 && c.eps < 1))
    fields.refuse(c.like_gpt2 ? "layer_norm_epsilon" : "rms_norm_eps", "this is no number below 1",
                  kAsPublished);
  return config;
}

Config read_config(const std::filesystem::path& folder) {
  data::check_folder(folder);
  const std::filesystem::path file = folder / "config.json";
  return parse_config(data::read_text(file), file.string());
}

}  // namespace plimsoll::published
