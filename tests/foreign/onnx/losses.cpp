// Losses over classes: scores [N, C, ..], labels [N, ..], and a weight for each class.
#include <limits>

#include "ops/common/expect.h"
#include "tests/foreign/onnx/windows.h"

namespace plimsoll::onnx {
namespace {

// Without the attribute no label is ignored.
int64_t ignored(const OpCall& c) {
  return c.node.integer("ignore_index", std::numeric_limits<int64_t>::min());
}

// Losses come in f32 for 16-bit scores, and weights are theirs.
Tensor weight(const OpCall& c) {
  return c.has(2) ? cast(c[2], compute_dtype(c[0].dtype())) : Tensor();
}

std::vector<Tensor> likelihood(const OpCall& c) {
  const Tensor loss = nll_loss(channels_last(c[0]), cast(c[1], DType::i64),
                               {.weight = weight(c),
                                .ignore_index = ignored(c),
                                .reduction = reduction(c.node.text("reduction", "mean"))});
  return {cast(loss, c[0].dtype())};
}

std::vector<Tensor> softmax_likelihood(const OpCall& c) {
  CrossEntropyOptions options;
  options.weight = weight(c);
  options.ignore_index = ignored(c);
  options.reduction = reduction(c.node.text("reduction", "mean"));
  const Tensor loss = cross_entropy(channels_last(c[0]), cast(c[1], DType::i64), options);
  return {cast(loss, c[0].dtype()), log_softmax(c[0], 1)};
}

}  // namespace

Ops loss_ops() {
  return {{"NegativeLogLikelihoodLoss", likelihood},
          {"SoftmaxCrossEntropyLoss", softmax_likelihood}};
}

}  // namespace plimsoll::onnx
