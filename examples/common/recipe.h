// The recipe of a training: --optimizer, --weight-decay, --schedule and --warmup.
//
//   add_recipe_options(app, options);
//   Recipe recipe(*model, options);
//   options.schedule = schedule_of(options, updates);
//   train::Trainer trainer(*model, recipe.optimizer(), training, test, options);
#pragma once

#include <memory>

#include "examples/common/options.h"
#include "nn/module.h"
#include "optim/parameter_groups.h"
#include "train/batches.h"

namespace plimsoll::examples {

void add_recipe_options(CommandLine& app, Options& options);

// The optimizer of --optimizer. Matrices and kernels decay, gains and biases do not, as GPT is
// trained. It outlives the training.
class Recipe {
 public:
  Recipe(const nn::Module& model, const Options& options);
  optim::ParameterGroups optimizer() const;

 private:
  std::vector<Tensor> parameters_;
  std::vector<std::pair<std::string, std::unique_ptr<optim::Optimizer>>> groups_;
};

// Refuses a --budget that the model's parameters and the optimizer's state exceed, before a weight
// is drawn. `make` makes the model.
void refuse_impossible_budget(
    const Options& options,
    const std::function<std::unique_ptr<nn::Module>(nn::Initializer&)>& make,
    const train::Batches& training, const train::Batches& held_out);

// Learning rates for so many updates. UsageError for a warm-up that is longer.
optim::Schedule schedule_of(const Options& options, int64_t updates);

}  // namespace plimsoll::examples
