// RankStatistics: the statistics of batch norm of a window of batches that ranks train together.
// Each run leaves its own; at the end of the window all of them move the running statistics, in the
// order of the batches, as if one rank had trained them one after another.
//
//   RankStatistics statistics(model, window);
//   statistics.begin(8);               // a window of so many batches
//   mode.statistics = &statistics;     // nn/norm.h
//   model(x, mode);
//   statistics.apply();                // in the last run of the window
#pragma once

#include <vector>

#include "nn/module.h"
#include "nn/norm.h"
#include "optim/ranks/rank_window.h"

namespace plimsoll::train {

class RankStatistics : public nn::BatchStatistics {
 public:
  // For every BatchNorm2d in the model. `window` must stay where it is.
  RankStatistics(const nn::Module& model, const optim::RankWindow& window);
  // A window of so many batches begins. Between steps.
  void begin(int64_t batches);

  // A batch begins: each layer keeps its statistics once.
  void begin_batch() const;
  // StateError for a layer that is not one of the model's, and for one that is used twice.
  void keep(const Tensor& running_mean, const Tensor& running_variance, const Tensor& mean,
            const Tensor& variance, double momentum, int64_t positions) const override;
  // Whether apply() writes there, once keep() was called.
  bool moves(const Storage* buffer) const;
  // Communicates with the other ranks.
  void apply() const;

 private:
  struct Layer {
    const Storage* running_mean;
    int64_t channels, offset;  // in elements of all_
    Tensor mean, variance;     // of each run: [1, R, C] in all_
    // As keep() was told last.
    mutable Tensor into_mean{}, into_variance{};
    mutable double momentum = 0;
    mutable int64_t positions = 0;
    mutable bool kept = false;  // in this batch
  };

  const optim::RankWindow& window_;
  std::vector<Layer> layers_;
  Tensor all_, batches_;  // batches: i64 [], of this window
};

}  // namespace plimsoll::train
