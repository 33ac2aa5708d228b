// The text models of train_transformer and compare_memory.
#pragma once

#include <memory>

#include "examples/common/staged.h"

namespace plimsoll::examples {

// Decoder-only language model: x [B, T] token ids -> logits [B, T, vocabulary] (Radford et al.,
// "Language Models are Unsupervised Multitask Learners", 2019). Pre-norm blocks, learned positions,
// no biases, weights from normal(0, 0.02), output projections of the blocks scaled down by
// sqrt(2 * layers); the output layer shares the token table.
struct GptSize {
  int64_t vocabulary = 65, context = 64, layers = 4, heads = 4, width = 128;
  double dropout = 0;
};
std::unique_ptr<Staged> make_gpt(GptSize size, bool checkpoint, nn::Build& build);

// Passage classifier: x [B, T] word ids -> logits [B, 10]. Token embedding 10000 x 256, sinusoidal
// positions, one post-norm block of 2 heads and feed-forward 32 with dropout 0.1, mean over the
// positions, dense.
struct TextClassifierSize {
  int64_t vocabulary = 10000, context = 128, heads = 2, width = 256, hidden = 32, classes = 10;
  double dropout = 0.1;
};
std::unique_ptr<Staged> make_text_classifier(TextClassifierSize size, bool checkpoint,
                                             nn::Build& build);

}  // namespace plimsoll::examples
