// Objective: what a model is trained for, as functions of its output and the labels of a batch.
//
//   train::Objective objective = train::classification();
//   objective.metrics.push_back({"top 5", [](const Tensor& logits, const Tensor& labels) {...}});
//   train::Objective{.loss = [](const Tensor& y, const Tensor& wanted) { return mse_loss(...); }};
//
// The functions consist of ops: they are captured with the step, and planned.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::train {

using OfOutput = std::function<Tensor(const Tensor& output, const Tensor& y)>;

// A figure of evaluations: a floating scalar [], the mean over those labels of the batch that
// count.
struct Metric {
  std::string name;  // as in the log: "top 5"
  OfOutput mean;
};

// Labels of classes that are -100 count nowhere; of floating labels all do.
struct Objective {
  OfOutput loss;  // []: the mean over those labels of the batch that count
  // The classes guessed, i64, in the shape of the labels. Empty: there is no accuracy.
  std::function<Tensor(const Tensor& output)> guess = {};
  std::vector<Metric> metrics = {};
  bool perplexity = false;  // exp(loss) is a figure too
};

// How many labels of a batch count: f64 [].
Tensor count_labels(const Tensor& y);

// Cross entropy of logits [..., C] and labels [...], and accuracy.
Objective classification();
// The same of tokens, and perplexity.
Objective language_model();

}  // namespace plimsoll::train
