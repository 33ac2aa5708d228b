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

// Of predictions of classes. Labels that are `kIgnored` count nowhere, as in cross_entropy.
struct Score {
  static constexpr int64_t kIgnored = -100;

  Mean loss;  // per prediction
  int64_t right = 0;

  // loss: the mean over the batch's labels; guesses, if there are any, and labels: of one shape.
  // Returns how many labels count: of floating ones all do.
  int64_t add(const Tensor& batch_loss, const Tensor& guesses, const Tensor& labels) {
    int64_t counted = labels.count();
    if (!is_floating(labels.dtype())) {
      const auto wanted = labels.to_vector<int64_t>();
      counted -= std::ranges::count(wanted, kIgnored);
      const auto guessed = guesses.defined() ? guesses.to_vector<int64_t>() : wanted;
      for (size_t i = 0; guesses.defined() && i < wanted.size(); ++i)
        right += wanted[i] != kIgnored && guessed[i] == wanted[i];
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
