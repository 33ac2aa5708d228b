#include "train/objective.h"

#include "ops/ops.h"
#include "optim/accumulation.h"

namespace plimsoll::train {

Tensor count_labels(const Tensor& y) {
  if (is_floating(y.dtype()))
    return full({}, static_cast<double>(y.count()), {DType::f64, y.device()});
  return optim::counted(y);
}

Objective classification() {
  return {.loss = [](const Tensor& logits, const Tensor& y) { return cross_entropy(logits, y); },
          .guess = [](const Tensor& logits) { return argmax(logits, -1); }};
}

Objective language_model() {
  Objective objective = classification();
  objective.perplexity = true;
  return objective;
}

}  // namespace plimsoll::train
