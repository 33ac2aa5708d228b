#include "examples/models/transformer_models.h"

#include <cmath>

#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "nn/transformer.h"
#include "ops/ops.h"

namespace plimsoll::examples {
namespace {

using nn::Initializer;

// The last norm, then the token table once more as the output layer. Where a sequence goes on, only
// its last token has one behind it that nobody knows yet: its logits alone, [B, 1, V].
class GptHead : public nn::Module {
 public:
  GptHead(int64_t width, const Tensor& table, Initializer& init)
      : norm_(add<nn::LayerNorm>("norm", width, init)), table_(table) {}
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    const int64_t steps = x.size(1);
    const Tensor wanted = mode.cache ? slice(x, 1, steps - 1, steps) : x;
    return linear(norm_(wanted, mode), table_);  // [B, T, D] -> [B, T, V]
  }

 private:
  const nn::LayerNorm& norm_;
  Tensor table_;  // belongs to the embedding, which also registers it
};

// GPT-2's initial weights, drawn in the order of the parameters.
void initialise_gpt(const Staged& model, int64_t layers, Initializer& init) {
  for (const auto& [name, tensor] : model.named_parameters()) {
    if (name.ends_with(".bias")) nn::assign(tensor, nn::init::zeros(tensor.shape(), init));
    if (tensor.rank() < 2) continue;
    const bool into_residual = name.ends_with("output.weight") || name.ends_with("contract.weight");
    const double std = 0.02 / (into_residual ? std::sqrt(2.0 * static_cast<double>(layers)) : 1);
    nn::assign(tensor, nn::init::normal(tensor.shape(), std, init));
  }
}

}  // namespace

std::unique_ptr<Staged> make_gpt(GptSize size, bool checkpoint, Initializer& init) {
  auto model = std::make_unique<Staged>(checkpoint);
  auto& input = model->stage<nn::Sequential>("input");
  auto tokens = std::make_unique<nn::Embedding>(size.vocabulary, size.width, init);
  const Tensor table = tokens->weight();
  input.append(std::move(tokens))
      .then<nn::LearnedPositions>(size.context, size.width, init)
      .then<nn::Dropout>(size.dropout, init);
  for (int64_t layer = 0; layer < size.layers; ++layer)
    model->stage<nn::TransformerBlock>(cat("block", layer), size.width, init,
                                       nn::TransformerOptions{.heads = size.heads,
                                                              .causal = true,
                                                              .bias = size.bias,
                                                              .dropout = size.dropout,
                                                              .activation = size.activation});
  model->stage<GptHead>("head", size.width, table, init);
  initialise_gpt(*model, size.layers, init);
  return model;
}

nn::TorchLayout gpt2_torch_layout() {
  return {.renames = {{"input.0.", "wte."},
                      {"input.1.", "wpe."},
                      {"head.norm.", "ln_f."},
                      {"block", "h."},
                      {"norm1.", "ln_1."},
                      {"self_attn.in_proj_", "attn.c_attn."},
                      {"self_attn.out_proj.", "attn.c_proj."},
                      {"norm2.", "ln_2."},
                      {"linear1.", "mlp.c_fc."},
                      {"linear2.", "mlp.c_proj."}},
          .transposed = {"c_attn.weight", "c_proj.weight", "c_fc.weight"}};
}

const std::vector<std::string>& text_model_names() {
  static const std::vector<std::string> names{"gpt", "gpt2-124M", "textcls"};
  return names;
}

GptSize gpt_size_named(const std::string& name) { return name == "gpt2-124M" ? kGpt2 : GptSize{}; }

std::unique_ptr<Staged> make_text_classifier(TextClassifierSize size, bool checkpoint,
                                             Initializer& init) {
  auto model = std::make_unique<Staged>(checkpoint);
  model->stage<nn::Sequential>("input")
      .then<nn::Embedding>(size.vocabulary, size.width, init)
      .then<nn::SinusoidalPositions>(size.context, size.width, init);
  model->stage<nn::TransformerBlock>("block", size.width, init,
                                     nn::TransformerOptions{.heads = size.heads,
                                                            .feed_forward = size.hidden,
                                                            .dropout = size.dropout,
                                                            .norm = nn::NormOrder::post,
                                                            .activation = nn::Activation::relu});
  model->stage<nn::Sequential>("head").then<nn::GlobalAvgPool>().then<nn::Linear>(
      size.width, size.classes, init);
  return model;
}

}  // namespace plimsoll::examples
