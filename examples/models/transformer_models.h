// The text models of train_transformer and compare_memory.
#pragma once

#include <memory>

#include "examples/models/staged.h"
#include "nn/torch_layout.h"
#include "nn/transformer.h"

namespace plimsoll::examples {

// Decoder-only language model: x [B, T] token ids -> logits [B, T, vocabulary] (Radford et al.,
// "Language Models are Unsupervised Multitask Learners", 2019). Pre-norm blocks, learned positions,
// weights from normal(0, 0.02), output projections of the blocks scaled down by sqrt(2 * layers),
// biases, where there are any, 0; the output layer shares the token table.
struct GptSize {
  int64_t vocabulary = 65, context = 64, layers = 4, heads = 4, width = 128;
  double dropout = 0;  // of the embeddings and of what is added to the residual
  bool bias = false;
  nn::Activation activation = nn::Activation::gelu;
};
std::unique_ptr<Staged> make_gpt(GptSize size, bool checkpoint, nn::Initializer& init);

// GPT-2 as it was published, the smallest of four: 124,439,808 parameters.
constexpr GptSize kGpt2{.vocabulary = 50257,
                        .context = 1024,
                        .layers = 12,
                        .heads = 12,
                        .width = 768,
                        .bias = true,
                        .activation = nn::Activation::gelu_tanh};

// Of a model made with biases: the names and layouts of GPT2Model in Hugging Face's transformers,
// which are those of the published files.
nn::TorchLayout gpt2_torch_layout();

// "gpt", "gpt2-124M", "textcls"
const std::vector<std::string>& text_model_names();
// The size of a model whose size has a name: GptSize{} of "gpt", kGpt2 of "gpt2-124M".
GptSize gpt_size_named(const std::string& name);

// Passage classifier: x [B, T] word ids -> logits [B, 10]. Token embedding 10000 x 256, sinusoidal
// positions, one post-norm block of 2 heads and feed-forward 32 with dropout 0.1, mean over the
// positions, dense.
struct TextClassifierSize {
  int64_t vocabulary = 10000, context = 128, heads = 2, width = 256, hidden = 32, classes = 10;
  double dropout = 0.1;
};
std::unique_ptr<Staged> make_text_classifier(TextClassifierSize size, bool checkpoint,
                                             nn::Initializer& init);

}  // namespace plimsoll::examples
