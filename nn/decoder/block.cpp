#include "nn/decoder/block.h"

#include "nn/key_value_cache.h"
#include "ops/indexing/embedding/embedding.h"
#include "ops/norm/layer_norm/layer_norm.h"
#include "ops/norm/rms_norm/rms_norm.h"
#include "ops/pointwise/activations/activations.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/gelu/gelu.h"
#include "ops/pointwise/relu/relu.h"
#include "ops/shape/split/split.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

Tensor activate(const Tensor& x, DecoderActivation activation) {
  switch (activation) {
    case DecoderActivation::silu:
      return silu(x);
    case DecoderActivation::gelu:
      return gelu(x);
    case DecoderActivation::relu:
      return relu(x);
    default:
      return gelu_tanh(x);
  }
}

}  // namespace

DecoderNorm::DecoderNorm(const Parts& parts, int64_t width, bool shift, double eps) : eps_(eps) {
  const auto keep = [&](const std::string& name) {
    const Tensor taken = parts.take(name, {width}, /*wide=*/true);
    return parts.trained ? add_parameter(name, taken) : add_frozen(name, taken);
  };
  weight_ = keep("weight");
  if (shift) bias_ = keep("bias");
}

Tensor DecoderNorm::forward(const Tensor& x, const Mode&) const {
  return bias_.defined() ? layer_norm(x, weight_, bias_, eps_) : rms_norm(x, weight_, eps_);
}

DecoderTable::DecoderTable(const Parts& parts, int64_t rows, int64_t width) {
  const Tensor taken = parts.take("weight", {rows, width});
  weight_ = parts.trained ? add_parameter("weight", taken) : add_frozen("weight", taken);
}

Tensor DecoderTable::forward(const Tensor& ids, const Mode&) const {
  return embedding(weight_, ids);
}

DecoderAttention::DecoderAttention(const Parts& parts, const DecoderConfig& config, int64_t layer,
                                   const RopeTables& angles)
    : config_(config), angles_(angles), placement_(parts.init.placement) {
  const DecoderNames& names = names_of(config);
  const int64_t queries = config.heads * config.head_width;
  const int64_t keys = config.kv_heads * config.head_width;
  const auto projection = [&](const std::string& name, int64_t in, int64_t out, bool bias) {
    return &add<Projection>(
        name, parts.in(name),
        ProjectionOptions{.in = in, .out = out, .bias = bias, .transposed = config.like_gpt2});
  };
  if (config.like_gpt2) {
    qkv_ = projection(names.qkv, config.width, queries + 2 * keys, config.qkv_bias);
  } else {
    q_ = projection(names.q, config.width, queries, config.qkv_bias);
    k_ = projection(names.k, config.width, keys, config.qkv_bias);
    v_ = projection(names.v, config.width, keys, config.qkv_bias);
  }
  if (config.qk_norm) {
    const auto norm = [&](const std::string& name) {
      return &add<DecoderNorm>(name, parts.in(name), config.head_width, false, config.eps);
    };
    q_norm_ = norm(names.q_norm);
    k_norm_ = norm(names.k_norm);
  }
  output_ = projection(names.output, queries, config.width, config.output_bias);
  attrs_ = {.window = config.windows.empty() ? 0 : config.windows[static_cast<size_t>(layer)],
            .dropout = config.attention_dropout,
            .site = parts.init.keys.next()};
  if (config.scale_by_layer)
    attrs_.scale =
        1 / (std::sqrt(static_cast<double>(config.head_width)) * static_cast<double>(layer + 1));
}

CacheRow DecoderAttention::cache_row() const {
  return {config_.kv_heads, config_.head_width, placement_.dtype, placement_.device, true};
}

RopeTables DecoderAttention::angles(int64_t steps, const Mode& mode) const {
  const auto rows = [&](const Tensor& table) {
    return has_positions(mode) ? embedding(table, mode.positions) : slice(table, 0, 0, steps);
  };
  return {rows(angles_.cos), rows(angles_.sin)};
}

Tensor DecoderAttention::forward(const Tensor& x, const Mode& mode) const {
  const int64_t batch = x.size(0), steps = x.size(1), width = config_.head_width;
  const auto heads = [&](const Tensor& y) {
    return reshape(y, {batch, steps, y.size(-1) / width, width});
  };
  Tensor q, k, v;
  if (qkv_) {
    const auto parts = split_into<3>(heads((*qkv_)(x, mode)), 2);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    q = heads((*q_)(x, mode)), k = heads((*k_)(x, mode)), v = heads((*v_)(x, mode));
  }
  if (q_norm_) q = (*q_norm_)(q, mode), k = (*k_norm_)(k, mode);
  if (!config_.like_gpt2) {
    const auto [cos, sin] = angles(steps, mode);
    q = rope(q, cos, sin), k = rope(k, cos, sin);
  }
  const Tensor mixed = attend(q, k, v, attrs_, mode);
  return (*output_)(reshape(mixed, {batch, steps, config_.heads * width}), mode);
}

DecoderMlp::DecoderMlp(const Parts& parts, const DecoderConfig& config)
    : activation_(config.activation) {
  const DecoderNames& names = names_of(config);
  const auto projection = [&](const std::string& name, int64_t in, int64_t out) {
    return &add<Projection>(
        name, parts.in(name),
        ProjectionOptions{
            .in = in, .out = out, .bias = config.mlp_bias, .transposed = config.like_gpt2});
  };
  if (!names.gate.empty()) gate_ = projection(names.gate, config.width, config.feed_forward);
  expand_ = projection(names.expand, config.width, config.feed_forward);
  contract_ = projection(names.contract, config.feed_forward, config.width);
}

Tensor DecoderMlp::forward(const Tensor& x, const Mode& mode) const {
  const Tensor hidden = gate_ ? activate((*gate_)(x, mode), activation_) * (*expand_)(x, mode)
                              : activate((*expand_)(x, mode), activation_);
  return (*contract_)(hidden, mode);
}

DecoderBlock::DecoderBlock(const Parts& parts, const DecoderConfig& config, int64_t layer,
                           const RopeTables& angles)
    : dropout1_(add<Dropout>("dropout1", config.residual_dropout, parts.init)),
      dropout2_(add<Dropout>("dropout2", config.residual_dropout, parts.init)) {
  const DecoderNames& names = names_of(config);
  const auto norm = [&](const std::string& name) {
    return &add<DecoderNorm>(name, parts.in(name), config.width, config.like_gpt2, config.eps);
  };
  norm1_ = norm(names.norm1);
  attention_ =
      &add<DecoderAttention>(names.attention, parts.in(names.attention), config, layer, angles);
  norm2_ = norm(names.norm2);
  mlp_ = &add<DecoderMlp>(names.mlp, parts.in(names.mlp), config);
}

Tensor DecoderBlock::forward(const Tensor& x, const Mode& mode) const {
  const Tensor h = x + dropout1_((*attention_)((*norm1_)(x, mode), mode), mode);
  return h + dropout2_((*mlp_)((*norm2_)(h, mode), mode), mode);
}

}  // namespace plimsoll::nn
