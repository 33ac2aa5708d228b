// The last layer of a language model and its loss in one: the logits, the largest tensor of such a
// model, never exist as a whole.
//
//   Tensor loss = linear_cross_entropy(x, w, b, labels);         // [B, T, I], [C, I], [C], [B, T]
//   Tensor soft = linear_cross_entropy(x, w, {}, labels, {.label_smoothing = 0.1});
#pragma once

#include "ops/loss/cross_entropy/cross_entropy.h"

namespace plimsoll {

// cross_entropy(linear(x, w, bias), labels, options), computed for some hundred rows at a time: x
// [..., I], w [C, I], bias [C] or undefined, labels [...] i64. The tape keeps these and two numbers
// a row; one pass, which computes the logits again, gives the gradients of x, w and bias. That
// makes four matrix products where the two ops take three, and no tensor of [..., C] numbers where
// they take two. Logits of 16-bit tensors stay in f32, on a GPU not their gradient. Errors: of the
// two.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& w, const Tensor& bias,
                            const Tensor& labels, const CrossEntropyOptions& options = {});

}  // namespace plimsoll
