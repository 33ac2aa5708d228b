// Will it fit? The largest batch of an example's model that trains within so many bytes, found on a
// device without bytes: nothing is allocated but the plans.
//
//   const ModelStep step(FitModel{.name = "gpt"}, Precision::bf16);
//   FitSearch search(step);
//   const Fit fit = search.largest_batch(int64_t{8} << 30, Recomputing::up_to_a_tenth);
//   fit.batch                          // 0: not even one example fits
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "autograd/autocast.h"
#include "core/engine/trace.h"
#include "core/ranks/planned_ranks.h"
#include "examples/common/recipe.h"
#include "examples/measure/lanes.h"
#include "examples/models/cnn_models.h"
#include "examples/models/transformer_models.h"
#include "examples/models/tuning.h"
#include "memory/recompute/budget.h"
#include "train/training_step.h"

namespace plimsoll::examples {

struct FitModel {
  std::string name = "lenet";
  ImageSize image{28, 28, 1, 10};  // of the convolution nets
  GptSize gpt{};                   // of gpt
  int64_t context = 128;           // of textcls, gpt2-124M and a folder
  Tuning tuning{};                 // of a published folder, in place of the name
  int64_t ranks = 0;               // that share windows of `accumulate` batches; 0: there are none
  int64_t accumulate = 1;
  int64_t shard = 0;  // what they share out: the stage of optim/ranks/shards.h
};

// What train_cnn and train_transformer do with a batch: loss, gradients, update; with loss scaling
// for f16. Weights and optimizer state lie on `device`. Of ranks it is what each of them does with
// the last batch of its share, which takes most: with bytes those of this thread, if there are so
// many.
class ModelStep {
 public:
  ModelStep(const FitModel& model, Precision precision, Device device = Device::null);

  // Batch, labels and random key, as the programs' loaders make them.
  Metas inputs(int64_t batch) const;
  std::vector<Tensor> operator()(std::span<const Tensor> in) const;
  int64_t parameter_count() const { return model_->parameter_count(); }

  // The trainer's own, for other batches of a window.
  train::TrainingStep& step() { return *step_; }

 private:
  FitModel choice_;
  Device device_;
  std::unique_ptr<nn::Module> model_;
  Options options_;
  std::optional<Recipe> recipe_;
  std::optional<optim::ParameterGroups> optimizer_;
  std::optional<PlannedRanks> planned_;
  Ranks* ranks_ = nullptr;
  std::optional<train::TrainingStep> step_;
  StepFunction function_;
};

enum class Recomputing { none, up_to_a_tenth, smallest };

struct FitOptions {
  DeviceSpeed speed{};
  Link link{};  // between ranks
  // For each batch. 0: as many as the program's size asks for, for few batches; others like them
  // begin with what these found.
  double search_seconds = 0;
  int64_t most = 1'000'000;  // batches beyond are not looked at
};

struct Fit {
  int64_t batch = 0;
  int64_t bytes = 0;                      // taken at that batch
  double seconds = 0, added_seconds = 0;  // predicted, of a step, and of what it makes again
  Lanes lanes{};                          // of `seconds`, what computes and what exchanges
  int64_t least_bytes = 0;                // what one example takes so, when not even that fits
  BytesByClass at_peak{};                 // of these bytes, when most is held
};

// Seconds of one run: operations and bytes of each instruction, one after the other, and beside
// them what is exchanged.
Lanes predicted(const Program& program, const FitOptions& options);

// Largest batches of one step. What was planned for one way of recompute, or one number of bytes,
// is not planned again for another. The step must outlive it.
class FitSearch {
 public:
  explicit FitSearch(const ModelStep& step, const FitOptions& options = {})
      : step_(step), options_(options) {}

  // The largest batch within `bytes` whose plan is the one without a budget, makes again what costs
  // up to a tenth of the step, or is the smallest that is found and does not double it. One example
  // more (with recompute one in 256 more) was tried, and so short a search found no plan for it.
  // What fits, a Step runs with {.budget = bytes, .planning = {CostModel::model, search_seconds}}
  // where these are given, else with a search that is as long as it takes to find as good a plan:
  // plans are searched for the speed of CostModel::model, and those found are judged at `speed`.
  // For a device of other proportions another plan might cost less.
  Fit largest_batch(int64_t bytes, Recomputing recomputing);

 private:
  std::optional<Fit> fit(int64_t batch, int64_t bytes, Recomputing recomputing);
  int64_t least_bytes(Recomputing recomputing);  // of one example
  const Program& program_for(int64_t batch);
  const PlannedProgram& without_budget(int64_t batch);
  const BudgetPlanner& planner_for(int64_t batch);

  const ModelStep& step_;
  FitOptions options_;
  std::map<int64_t, Program> programs_;      // by batch
  std::map<int64_t, PlannedProgram> plans_;  // without a budget
  std::map<int64_t, BudgetPlanner> planners_;
};

}  // namespace plimsoll::examples
