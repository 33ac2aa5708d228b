#include "nn/published/gguf.h"

#include <cmath>

#include "autograd/no_grad.h"
#include "data/atomic_file.h"
#include "nn/published/config.h"
#include "nn/published/export.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;
using formats::GgufField;
using formats::GgufTensor;
using formats::GgufType;
using nn::DecoderActivation;
using nn::DecoderConfig;
using nn::RotaryScaling;

const char* architecture_of(const DecoderConfig& c) {
  if (c.like_gpt2) return "gpt2";
  if (c.architecture == "Qwen2ForCausalLM") return "qwen2";
  return c.architecture == "Qwen3ForCausalLM" ? "qwen3" : "llama";
}

uint32_t number_of_file(GgufType type) {
  return type == GgufType::q8_0 ? 7 : static_cast<uint32_t>(type);
}

// What another program would compute otherwise.
void check_known(const DecoderConfig& c) {
  const auto require = [&](bool known, const char* what) {
    check<DataError>(known, "gguf: llama.cpp's ", architecture_of(c), " has no ", what, ": this ",
                     c.architecture, " does. Keep it in its folder.");
  };
  require(c.activation == (c.like_gpt2 ? DecoderActivation::gelu_tanh : DecoderActivation::silu),
          "other activation");
  require(!c.scale_by_layer, "scores by the number of the layer");
  for (const int64_t window : c.windows)
    require(window == 0 || window >= c.context, "window of attention");
  require(c.architecture != "Qwen3ForCausalLM" || !c.qkv_bias, "bias in its attention");
  const nn::RotaryOptions& r = c.rotary;
  if (r.scaling == RotaryScaling::yarn)
    require(r.fast == 32 && r.slow == 1 && r.whole &&
                std::abs(r.magnitude - (0.1 * std::log(r.factor) + 1)) < 1e-6,
            "other stretching of positions");
  require(r.scaling != RotaryScaling::llama3 || std::string(architecture_of(c)) == "llama",
          "stretching of positions as llama3");
}

std::vector<GgufField> fields_of(const DecoderConfig& c, GgufType type) {
  const std::string name = architecture_of(c);
  std::vector<GgufField> fields{{"general.architecture", name},
                                {"general.type", std::string("model")},
                                {"general.file_type", number_of_file(type)},
                                {"general.quantization_version", uint32_t{2}}};
  const auto whole = [&](const char* key, int64_t value) {
    fields.push_back({name + key, static_cast<uint32_t>(value)});
  };
  const auto number = [&](const char* key, double value) {
    fields.push_back({name + key, static_cast<float>(value)});
  };
  const auto word = [&](const char* key, const char* value) {
    fields.push_back({name + key, std::string(value)});
  };
  whole(".block_count", c.layers);
  whole(".context_length", c.context);
  whole(".embedding_length", c.width);
  whole(".feed_forward_length", c.feed_forward);
  whole(".attention.head_count", c.heads);
  if (c.like_gpt2) {
    number(".attention.layer_norm_epsilon", c.eps);
    return fields;
  }
  whole(".vocab_size", c.vocabulary);
  whole(".attention.head_count_kv", c.kv_heads);
  whole(".attention.key_length", c.head_width);
  whole(".attention.value_length", c.head_width);
  whole(".rope.dimension_count", c.head_width);
  number(".attention.layer_norm_rms_epsilon", c.eps);
  number(".rope.freq_base", c.rotary.base);
  const RotaryScaling scaling = c.rotary.scaling;
  if (scaling == RotaryScaling::linear || scaling == RotaryScaling::yarn) {
    word(".rope.scaling.type", scaling == RotaryScaling::linear ? "linear" : "yarn");
    number(".rope.scaling.factor", c.rotary.factor);
  }
  if (scaling == RotaryScaling::yarn)
    whole(".rope.scaling.original_context_length", c.rotary.original_context);
  return fields;
}

// Row i of the first half of each head and row i of its second half become neighbours.
Tensor by_pairs(const Tensor& w, int64_t heads) {
  const int64_t half = w.size(0) / heads / 2, rest = w.count() / w.size(0);
  const Tensor parts = permute(reshape(w, {heads, 2, half, rest}), {0, 2, 1, 3});
  return reshape(contiguous(parts), w.shape());
}

// How much longer llama3's stretching makes the turn of each pair of features.
Tensor stretching(const DecoderConfig& c) {
  nn::RotaryOptions plain = c.rotary;
  plain.scaling = RotaryScaling::none;
  std::vector<float> factors = nn::rotary_frequencies(c.head_width, plain);
  const std::vector<float> stretched = nn::rotary_frequencies(c.head_width, c.rotary);
  for (size_t i = 0; i < factors.size(); ++i) factors[i] /= stretched[i];
  return Tensor::of(std::span<const float>(factors), {std::ssize(factors)});
}

// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight"
std::string name_of(const DecoderConfig& c, std::string name) {
  const nn::DecoderNames& names = nn::names_of(c);
  if (name.starts_with(names.prefix)) name.erase(0, names.prefix.size());
  const size_t dot = name.rfind('.');
  const std::string of = name.substr(0, dot), kind = name.substr(dot);
  const std::pair<std::string, const char*> outer[] = {{names.tokens, "token_embd"},
                                                       {names.positions, "position_embd"},
                                                       {names.norm, "output_norm"},
                                                       {names.head, "output"}};
  for (const auto& [theirs, ours] : outer)
    if (of == theirs) return ours + kind;
  const std::string in_attention = names.attention + ".", in_mlp = names.mlp + ".";
  const std::pair<std::string, const char*> inner[] = {{names.norm1, "attn_norm"},
                                                       {in_attention + names.qkv, "attn_qkv"},
                                                       {in_attention + names.q, "attn_q"},
                                                       {in_attention + names.k, "attn_k"},
                                                       {in_attention + names.v, "attn_v"},
                                                       {in_attention + names.q_norm, "attn_q_norm"},
                                                       {in_attention + names.k_norm, "attn_k_norm"},
                                                       {in_attention + names.output, "attn_output"},
                                                       {names.norm2, "ffn_norm"},
                                                       {in_mlp + names.gate, "ffn_gate"},
                                                       {in_mlp + names.expand, "ffn_up"},
                                                       {in_mlp + names.contract, "ffn_down"}};
  const size_t begin = names.layers.size() + 1, end = of.find('.', begin);
  for (const auto& [theirs, ours] : inner)
    if (of.substr(end + 1) == theirs)
      return cat("blk.", of.substr(begin, end - begin), ".", ours, kind);
  fail<DataError>("gguf: llama.cpp has no name for ", name, ". Keep the model in its folder.");
}

GgufTensor tensor_of(const DecoderConfig& c, const NamedTensor& own, GgufType type) {
  GgufTensor item{name_of(c, own.name), own.tensor, GgufType::f32};
  const bool is_layer = item.name.starts_with("blk.");
  if (is_layer && c.like_gpt2 && item.tensor.rank() == 2)
    item.tensor = contiguous(transpose(item.tensor));  // [out, in], as the others have it
  if (is_layer && std::string(architecture_of(c)) == "llama") {
    if (item.name.find(".attn_q.") != std::string::npos)
      item.tensor = by_pairs(item.tensor, c.heads);
    if (item.name.find(".attn_k.") != std::string::npos)
      item.tensor = by_pairs(item.tensor, c.kv_heads);
  }
  if (item.tensor.rank() == 2 && item.name != "position_embd.weight")
    item.type = formats::fits(item.tensor.shape(), type) ? type : GgufType::f16;
  return item;
}

}  // namespace

void write_gguf(const fs::path& file, const nn::Decoder& model, const fs::path& from,
                GgufType type) {
  const DecoderConfig& config = model.config();
  std::error_code none;
  check<DataError>(!fs::exists(fs::symlink_status(file, none)),
                   "gguf: this is there already: ", file.string(), ". Name a new file.");
  check<DataError>(read_config(from).decoder == config,
                   "gguf: the config is of another model: ", from.string(),
                   ". Name the folder that the model came from.");
  check_known(config);
  std::vector<GgufField> fields = fields_of(config, type);
  const fs::path whole = from.has_filename() ? from : from.parent_path();
  fields.insert(fields.begin() + 2, {"general.name", whole.filename().string()});
  for (GgufField& field : tokenizer_fields(from, config.vocabulary))
    fields.push_back(std::move(field));
  const NoGrad scope;
  std::vector<GgufTensor> tensors;
  for (const NamedTensor& own : merged_weights(model))
    tensors.push_back(tensor_of(config, own, type));
  if (config.rotary.scaling == RotaryScaling::llama3)
    tensors.push_back({"rope_freqs.weight", stretching(config), GgufType::f32});
  data::write_atomically(
      file, [&](const fs::path& to) { formats::write_gguf(to, fields, tensors); }, "gguf");
}

}  // namespace plimsoll::published
