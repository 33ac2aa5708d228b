#include "nn/decoder/decoder.h"

#include "autograd/checkpoint.h"
#include "core/engine/apply.h"
#include "nn/checkpointed.h"
#include "nn/decoder/block.h"
#include "nn/expect.h"
#include "nn/key_value_cache.h"
#include "nn/sequential.h"
#include "ops/indexing/embedding/embedding.h"
#include "ops/loss/cross_entropy/cross_entropy.h"
#include "ops/loss/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

int64_t context_of(const DecoderConfig& config, int64_t asked) {
  check_config(config);
  check<ValueError>(asked >= 0 && asked <= config.context, "decoder: the model has ",
                    config.context, " positions: ", asked, ". Use at most as many.");
  return asked > 0 ? asked : config.context;
}

}  // namespace

Decoder::Decoder(const DecoderConfig& config, const WeightSource& weights, Initializer& init,
                 const DecoderOptions& options)
    : config_(config),
      options_(options),
      context_(context_of(config, options.context)),
      dtype_(init.placement.dtype) {
  const DecoderNames& names = names_of(config_);
  if (!config_.like_gpt2) {
    angles_ = rotary_tables(context_, config_.head_width, config_.rotary, init.placement.device);
    set_memory_class(angles_.cos, MemoryClass::parameter);
    set_memory_class(angles_.sin, MemoryClass::parameter);
  }
  check<ValueError>(!options.trained || !options.quantised,
                    "decoder: weights in fewer bits are not trained. Give them adapters.");
  const Parts parts{.source = weights,
                    .init = init,
                    .trained = options.trained,
                    .converted = options.converted,
                    .quantised = options.quantised,
                    .lora = options.lora ? &*options.lora : nullptr,
                    .prefix = names.prefix};
  tokens_ =
      add<DecoderTable>(names.tokens, parts.in(names.tokens), config_.vocabulary, config_.width)
          .weight();
  if (config_.like_gpt2)
    positions_ = add<DecoderTable>(names.positions, parts.in(names.positions), config_.context,
                                   config_.width)
                     .weight();
  dropout_ = &add<Dropout>("dropout", config_.embedding_dropout, init);
  auto& layers = add<Sequential>(names.layers);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    auto block = std::make_unique<DecoderBlock>(parts.in(names.layers).in(cat(layer)), config_,
                                                layer, angles_);
    blocks_.push_back(block.get());
    layers.append(std::move(block));
  }
  norm_ = &add<DecoderNorm>(names.norm, parts.in(names.norm), config_.width, config_.like_gpt2,
                            config_.eps);
  if (!config_.tied) {
    Parts outside = parts.in(names.head);
    outside.prefix = "";
    outside.quantised = {};
    head_ = &add<Projection>(names.head, outside,
                             ProjectionOptions{.in = config_.width, .out = config_.vocabulary});
  }
  if (options.lora) check_targets(*options.lora);
  if (head_ && head_->lora()) options_.logits = true;
}

Tensor Decoder::loss(const Tensor& output, const Tensor& labels) const {
  if (options_.logits) return cross_entropy(output, labels);
  if (head().dtype() == output.dtype() || apply_mode().casts)
    return linear_cross_entropy(output, head(), {}, labels);
  const auto converted = [](std::span<const Tensor> in) {
    return linear_cross_entropy(in[0], cast(in[1], in[0].dtype()), {}, in[2]);
  };
  return plimsoll::checkpoint(converted, std::array{output, head(), labels});
}

void Decoder::check_targets(const LoraOptions& lora) const {
  check<ValueError>(!lora.targets.empty(),
                    "lora: there are no targets. Name matrices, such as all-linear.");
  for (const std::string& target : lora.targets) {
    const LoraOptions alone{.targets = {target}};
    bool found = false;
    std::string last;
    visit([&](const std::string& prefix, const Module& module) {
      if (!dynamic_cast<const Projection*>(&module)) return;
      last = published_name(config_, prefix);
      last.pop_back();  // the dot
      found = found || alone.adapts(last);
    });
    check<ValueError>(found, "lora: the target matches nothing: ", target, " in ",
                      config_.architecture, ", whose last matrix is ", last,
                      ". Name matrices of this model.");
  }
}

int64_t Decoder::bytes() const {
  int64_t total = 0;
  const auto add = [&](const Tensor& x) { total += block_bytes(bytes_of(x.meta())); };
  for (const auto& list : {named_parameters(), named_frozen()})
    for (const NamedTensor& own : list) add(own.tensor);
  if (angles_.cos.defined()) add(angles_.cos), add(angles_.sin);
  return total;
}

const Tensor& Decoder::head() const { return head_ ? head_->weight() : tokens_; }

Tensor Decoder::with_positions(const Tensor& x, const Mode& mode) const {
  if (mode.cache) {
    const int64_t room = mode.cache->options().context;
    check<ShapeError>(room <= context_, "decoder: the cache has room for ", room,
                      ", and there are ", context_,
                      " positions. Use a smaller context, or build the model with more.");
  } else {
    check<ShapeError>(x.size(1) <= context_, "decoder: the sequence is longer than ", context_,
                      ": got ", x.shape(), ". Build the model with a larger context.");
  }
  if (!config_.like_gpt2) return x;
  const Tensor rows = has_positions(mode) ? embedding(positions_, mode.positions)
                                          : slice(positions_, 0, 0, x.size(1));
  return x + cast(rows, x.dtype());
}

Tensor Decoder::forward(const Tensor& ids, const Mode& mode) const {
  check_defined("decoder", ids);
  check<ShapeError>(ids.rank() == 2, "decoder: the ids are not [B, T]: ", ids.shape(),
                    ". Reshape them to [batch, length].");
  check<StateError>(!has_positions(mode) || mode.positions.defined(),
                    "decoder: there are no positions. Give Mode those of the tokens.");
  Tensor x = cast(embedding(tokens_, ids), dtype_);
  x = (*dropout_)(with_positions(x, mode), mode);
  for (const DecoderBlock* block : blocks_)
    x = options_.checkpoint && mode.training ? checkpointed(*block, x, mode) : (*block)(x, mode);
  if (mode.cache) x = slice(x, 1, x.size(1) - 1, x.size(1));
  x = (*norm_)(x, mode);
  if (!options_.logits) return x;
  return head_ ? (*head_)(x, mode) : base_product(x, tokens_, {}, false);
}

}  // namespace plimsoll::nn
