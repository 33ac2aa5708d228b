#include "nn/decoder/decoder_config.h"

#include <algorithm>

#include "nn/expect.h"

namespace plimsoll::nn {

const DecoderNames& names_of(const DecoderConfig& config) {
  static const DecoderNames gpt2{.prefix = "transformer.",
                                 .tokens = "wte",
                                 .positions = "wpe",
                                 .layers = "h",
                                 .norm = "ln_f",
                                 .norm1 = "ln_1",
                                 .attention = "attn",
                                 .norm2 = "ln_2",
                                 .mlp = "mlp",
                                 .qkv = "c_attn",
                                 .q = "",
                                 .k = "",
                                 .v = "",
                                 .output = "c_proj",
                                 .q_norm = "",
                                 .k_norm = "",
                                 .gate = "",
                                 .expand = "c_fc",
                                 .contract = "c_proj"};
  static const DecoderNames llama{.prefix = "model.",
                                  .tokens = "embed_tokens",
                                  .positions = "",
                                  .layers = "layers",
                                  .norm = "norm",
                                  .norm1 = "input_layernorm",
                                  .attention = "self_attn",
                                  .norm2 = "post_attention_layernorm",
                                  .mlp = "mlp",
                                  .qkv = "",
                                  .q = "q_proj",
                                  .k = "k_proj",
                                  .v = "v_proj",
                                  .output = "o_proj",
                                  .q_norm = "q_norm",
                                  .k_norm = "k_norm",
                                  .gate = "gate_proj",
                                  .expand = "up_proj",
                                  .contract = "down_proj"};
  return config.like_gpt2 ? gpt2 : llama;
}

std::string published_name(const DecoderConfig& config, const std::string& name) {
  const DecoderNames& names = names_of(config);
  return name.starts_with(names.head + ".") ? name : names.prefix + name;
}

void check_config(const DecoderConfig& c) {
  check_positive("decoder", "vocabulary, width, layers, feed-forward and context",
                 {c.vocabulary, c.width, c.layers, c.feed_forward, c.context});
  check_positive("decoder", "heads, heads of keys and their width",
                 {c.heads, c.kv_heads, c.head_width});
  constexpr int64_t kMost = int64_t{1} << 31, kWidest = int64_t{1} << 26, kDeepest = 100'000;
  for (const int64_t size : {c.vocabulary, c.context})
    check<ValueError>(size <= kMost, "decoder: a vocabulary or context is too large: ", size,
                      ". Use at most ", kMost, ".");
  for (const int64_t size : {c.width, c.feed_forward, c.heads, c.head_width})
    check<ValueError>(size <= kWidest, "decoder: a width is too large: ", size, ". Use at most ",
                      kWidest, ".");
  check<ValueError>(c.heads * c.head_width <= kWidest, "decoder: ", c.heads, " heads of ",
                    c.head_width, " are too wide. Use at most ", kWidest, " in all.");
  check<ValueError>(c.layers <= kDeepest, "decoder: there are too many layers: ", c.layers,
                    ". Use at most ", kDeepest, ".");
  check<ValueError>(c.heads % c.kv_heads == 0, "decoder: ", c.kv_heads,
                    " heads of keys do not divide ", c.heads,
                    " heads of queries. Give one for each group of queries.");
  if (c.like_gpt2)
    check<ValueError>(c.heads * c.head_width == c.width && c.kv_heads == c.heads,
                      "decoder: ", c.heads, " heads do not divide the width ", c.width,
                      ". Choose a number of heads that does.");
  else
    check<ValueError>(c.head_width % 2 == 0,
                      "decoder: the heads are not of an even width: ", c.head_width,
                      ". Rotary positions turn pairs of features.");
  check<ValueError>(c.windows.empty() || std::ssize(c.windows) == c.layers, "decoder: there are ",
                    c.windows.size(), " windows for ", c.layers, " layers. Give each its own.");
  for (const int64_t window : c.windows)
    check<ValueError>(window >= 0, "decoder: a window is below 0: ", window,
                      ". Use 1 key or more, or 0 for all.");
}

}  // namespace plimsoll::nn
