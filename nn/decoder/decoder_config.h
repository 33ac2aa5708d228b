// DecoderConfig: everything in which the decoders of GPT-2's and Llama's families differ, as data.
//
//   const nn::DecoderConfig config{.vocabulary = 32000, .width = 2048, .layers = 22, .heads = 32,
//                                  .kv_heads = 4, .head_width = 64, .feed_forward = 5632,
//                                  .context = 2048};
//   nn::check_config(config);
#pragma once

#include "nn/decoder/rotary.h"

namespace plimsoll::nn {

// What a decoder calls its parts, below one prefix: those of the published files.
struct DecoderNames {
  std::string prefix;                                // of everything but the output layer
  std::string tokens, positions, layers, norm;       // the outer parts
  std::string norm1, attention, norm2, mlp;          // of a layer
  std::string qkv, q, k, v, output, q_norm, k_norm;  // of its attention
  std::string gate, expand, contract;                // of its feed-forward network
  std::string head = "lm_head";
};

enum class DecoderActivation : uint8_t { silu, gelu, gelu_tanh, relu };

// All in all: x = tokens[ids] (+ positions); each layer adds attention(norm1(x)), then
// mlp(norm2(x)); the logits are norm(x) times the head, or the token table once more.
struct DecoderConfig {
  std::string architecture = "LlamaForCausalLM";  // as config.json names it
  int64_t vocabulary = 0, width = 0, layers = 0;
  int64_t heads = 0, kv_heads = 0, head_width = 0;
  int64_t feed_forward = 0, context = 0;
  double eps = 1e-6;  // of the norms

  // As GPT-2: layer norms with a shift, trained positions, q, k and v from one product, matrices
  // that lie as [in, out], no gate. Otherwise as Llama: RMS norms, rotary positions, [out, in].
  bool like_gpt2 = false;
  RotaryOptions rotary = {};
  DecoderActivation activation = DecoderActivation::silu;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool qk_norm = false;               // of each head of q and k, before they are turned (Qwen 3)
  bool tied = false;                  // the output layer is the token table
  bool scale_by_layer = false;        // scores of layer i are divided by i + 1 too
  std::vector<int64_t> windows = {};  // of each layer, 0: it sees all keys; empty: all layers do
  double embedding_dropout = 0, attention_dropout = 0, residual_dropout = 0;

  bool operator==(const DecoderConfig&) const = default;
};

const DecoderNames& names_of(const DecoderConfig& config);

// The name in a file of what a decoder calls `name`: "model.layers.0.mlp.up_proj.weight".
std::string published_name(const DecoderConfig& config, const std::string& name);

// ValueError for sizes below 1, heads that do not divide, an odd width of rotary heads, windows
// that are not one of each layer.
void check_config(const DecoderConfig& config);

}  // namespace plimsoll::nn
