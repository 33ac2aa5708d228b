// Means over a data set whose batches need not be of one size: each counts for what it holds.
//
//   Mean loss;
//   loss.add(cross_entropy(logits, y).item(), 128);   // the mean over 128 labels
//   Score score;
//   score.add(loss, argmax(logits, -1), y);           // batch after batch
//   score.loss.value(); score.accuracy(); score.perplexity();
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/ignored_label.h"
#include "core/tensor/tensor.h"

namespace plimsoll::train {

struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double mean, int64_t terms) {
    sum += mean * static_cast<double>(terms);
    count += terms;
  }
  double value() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

// How many labels are not kIgnoredLabel; of floating ones all count.
inline int64_t counted_labels(const Tensor& labels) {
  if (is_floating(labels.dtype())) return labels.count();
  return labels.count() - std::ranges::count(labels.to_vector<int64_t>(), kIgnoredLabel);
}

// Of predictions of classes. Labels that are kIgnoredLabel count nowhere, as in cross_entropy.
struct Score {
  Mean loss;  // per prediction
  int64_t right = 0;

  // loss: the mean over the batch's labels; guesses, if there are any, and labels: of one shape.
  // Returns how many labels count.
  int64_t add(const Tensor& batch_loss, const Tensor& guesses, const Tensor& labels) {
    const int64_t counted = counted_labels(labels);
    if (guesses.defined() && !is_floating(labels.dtype())) {
      const auto wanted = labels.to_vector<int64_t>(), guessed = guesses.to_vector<int64_t>();
      for (size_t i = 0; i < wanted.size(); ++i)
        right += wanted[i] != kIgnoredLabel && guessed[i] == wanted[i];
    }
    if (counted > 0) loss.add(batch_loss.item(), counted);
    return counted;
  }
  double accuracy() const {
    return loss.count > 0 ? static_cast<double>(right) / static_cast<double>(loss.count) : 0;
  }
  // exp(loss): among how many tokens, equally likely, such a model would choose.
  double perplexity() const { return std::exp(loss.value()); }
};

}  // namespace plimsoll::train
