// TrainingStep: one batch of a training as a function of tensors, the same for every way to run it:
//
//   loss -> gradients -> sum of the window -> [its last batch: unscale -> clip -> update -> prune]
//
//   train::TrainingStep step(model, optimizer, options, windows, updates);
//   Runner runner(step.train(Precision::f32), /*captured=*/true, {}, &step.window(), ...);
//   step.prepare(number);
//   runner.train(number, {x, y, key});
#pragma once

#include <optional>

#include "autograd/autocast.h"
#include "core/engine/async_read_back.h"
#include "core/engine/trace.h"
#include "nn/module.h"
#include "optim/accumulation.h"
#include "optim/loss_scaler.h"
#include "optim/parameter_groups.h"
#include "optim/prune.h"
#include "optim/ranks/shards.h"
#include "optim/scheduled_rate.h"
#include "train/options.h"
#include "train/ranks/statistics.h"
#include "train/windows.h"

namespace plimsoll {
class Ranks;
}

namespace plimsoll::train {

class State;

class TrainingStep {
 public:
  // `updates`: how many the training is long, for pruning. `ranks`: those that share each window;
  // nullptr: it is this process's alone. All must outlive this.
  TrainingStep(const nn::Module& model, optim::ParameterGroups& optimizer,
               const TrainOptions& options, const Windows& windows, int64_t updates,
               const Ranks* ranks = nullptr);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  // x, y, key -> {loss}, and where an update is made and they are asked for, its gradients: of the
  // parameters in order, without loss scale and before clipping.
  StepFunction train(Precision precision, bool return_gradients = false) const;
  // x, y -> {loss, guesses if there are any, each metric}
  StepFunction evaluate(Precision precision) const;

  // Before batch `number` runs, outside of the step: its place in the window, the learning rate,
  // new masks. The first call is for the first batch of this process.
  void prepare(int64_t number);
  // The same for ranks, once for each window, which begins with batch `number`; then, before each
  // run of the step, window().at().
  optim::RankShare prepare_window(int64_t number);
  // For ranks: StateError where a program writes a buffer of the model in place that is not
  // gathered from all batches of a window, or has collectives and makes no update: ranks run such a
  // program unequally often.
  void check_programs(const std::vector<Program>& programs) const;
  // The rate of the batch that was prepared.
  AsyncReadBack learning_rate() const;
  // Updates that loss scaling left out until batch `number`.
  int64_t skipped(int64_t number) const {
    return windows_.before(number) - optimizer_.steps_made();
  }

  // Of ranks: where parameters and state lie; null without them.
  optim::Shards* shards() { return shards_ ? &*shards_ : nullptr; }
  // Parameters, buffers, optimizer, scaler, masks; the sums of the window where `in_window()`
  // holds.
  void add_to(State& state, std::function<bool()> in_window) const;

  optim::Accumulation& window() { return window_; }
  const optim::LossScaler& scaler() const { return scaler_; }
  std::optional<optim::Pruner>& pruner() { return pruner_; }

 private:
  void prepare_update(int64_t number, bool begins);
  std::pair<Tensor, std::vector<Tensor>> add_batch(std::span<const Tensor> in,
                                                   Precision precision) const;
  optim::Shards::Updated update(std::vector<Tensor> sums, bool return_grads) const;

  const nn::Module& model_;
  const std::vector<Tensor> parameters_;
  optim::ParameterGroups& optimizer_;
  const TrainOptions& options_;
  const Windows windows_;
  optim::LossScaler scaler_;
  optim::Accumulation window_;
  std::optional<optim::Shards> shards_;             // of ranks
  std::optional<RankStatistics> statistics_;        // of ranks, where the model has batch norm
  std::optional<optim::ScheduledRate> async_rate_;  // where loss scaling may leave updates out
  mutable std::optional<optim::Pruner> pruner_;
  std::optional<int64_t> left_out_;  // updates, before this process
  double rate_ = 0;
};

// "dynamic", "none" or a number: what TrainOptions::loss_scale means. ValueError for other words.
std::string loss_scale_of(const TrainOptions& options);
optim::LossScaler make_scaler(const TrainOptions& options, Device device);

}  // namespace plimsoll::train
