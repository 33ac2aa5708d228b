// Binary cross-entropy of logits: many yes-or-no questions, each with a probability sigmoid(x).
//
//   Tensor loss = bce_with_logits(x, target);                                     // [N, D] -> []
//   Tensor rare = bce_with_logits(x, target, {.pos_weight = ratio});              // [D]
#pragma once

#include "ops/loss/common/reduction.h"

namespace plimsoll {

struct BceOptions {
  Tensor weight = {};      // of each loss; undefined: 1
  Tensor pos_weight = {};  // of the answers yes, such as their rarity; undefined: 1
  Reduction reduction = Reduction::mean;
};

// loss = -weight (pos_weight t log sigmoid(x) + (1 - t) log sigmoid(-x)), in nats, without ever
// forming a probability: it is exact however large x is. x and the target t (probabilities of yes,
// 0 to 1) of one shape and floating type; the weights broadcast to that shape. The mean divides by
// the number of elements, not by the weights. Computed and returned in f32, in f64 for f64 inputs.
// Gradients flow to x, the target and the weights. Errors: DTypeError, ShapeError.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceOptions& options = {});

}  // namespace plimsoll
