#include "examples/common/recipe.h"

#include "optim/adam.h"
#include "optim/eight_bit.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"

namespace plimsoll::examples {
namespace {

constexpr double kMomentum = 0.9;

std::unique_ptr<optim::Optimizer> make_optimizer(const Options& options,
                                                 std::vector<Tensor> parameters, double decay) {
  const double beta2 = options.beta2;
  if (options.optimizer == "adam")
    return std::make_unique<optim::Adam>(std::move(parameters),
                                         optim::AdamOptions{.beta2 = beta2, .weight_decay = decay});
  if (options.optimizer == "adamw")
    return std::make_unique<optim::AdamW>(
        std::move(parameters), optim::AdamWOptions{.beta2 = beta2, .weight_decay = decay});
  if (options.optimizer == "adamw8bit")
    return std::make_unique<optim::AdamW8bit>(
        std::move(parameters), optim::AdamW8bitOptions{.beta2 = beta2, .weight_decay = decay});
  if (options.optimizer == "sgd8bit")
    return std::make_unique<optim::SGD8bit>(
        std::move(parameters), optim::SGD8bitOptions{.momentum = kMomentum, .weight_decay = decay});
  if (options.optimizer == "rmsprop")
    return std::make_unique<optim::RMSprop>(std::move(parameters),
                                            optim::RMSpropOptions{.weight_decay = decay});
  return std::make_unique<optim::SGD>(
      std::move(parameters), optim::SgdOptions{.momentum = kMomentum, .weight_decay = decay});
}

}  // namespace

void add_recipe_options(CommandLine& app, Options& options) {
  app.group("Recipe");
  app.add_option("--lr", options.learning_rate, "Highest learning rate")
      ->check(positive_number())
      ->capture_default_str();
  app.add_option(
         "--optimizer", options.optimizer,
         "What updates the weights; sgd has a momentum of 0.9, 8bit says how its state is kept")
      ->check(one_of({"adam", "adamw", "sgd", "rmsprop", "adamw8bit", "sgd8bit"}))
      ->capture_default_str();
  app.add_option("--weight-decay", options.weight_decay,
                 "Decay of matrices and kernels; gains and biases have none. Of adamw it is "
                 "decoupled, of others a part of the gradient")
      ->check(number_between(0, 1))
      ->capture_default_str();
  app.add_option("--schedule", options.schedule_name,
                 "How the learning rate falls after the warm-up")
      ->check(one_of({"cosine", "linear", "constant"}))
      ->capture_default_str();
  app.add_option("--warmup", options.warmup,
                 "Updates until the learning rate is at its highest; default: a tenth of the first "
                 "epoch, or of all steps, 100 at most")
      ->check(whole_number(0, kMany));
}

Recipe::Recipe(const nn::Module& model, const Options& options) : parameters_(model.parameters()) {
  for (const bool matrices : {true, false}) {
    std::vector<Tensor> some;
    for (const Tensor& p : parameters_)
      if ((p.rank() >= 2) == matrices) some.push_back(p);
    if (some.empty()) continue;
    const double decay = matrices ? options.weight_decay : 0;
    groups_.emplace_back(matrices ? "matrices" : "vectors",
                         make_optimizer(options, std::move(some), decay));
  }
}

optim::ParameterGroups Recipe::optimizer() const {
  std::vector<optim::ParameterGroup> groups;
  for (const auto& [name, optimizer] : groups_) groups.push_back({name, *optimizer});
  return {std::move(groups), parameters_};
}

optim::Schedule schedule_of(const Options& options, int64_t updates) {
  const int64_t tenth =
      options.epochs > 0 ? updates / options.epochs / 10 : std::min<int64_t>(100, updates / 10);
  const int64_t warmup = options.warmup < 0 ? tenth : options.warmup;
  check<UsageError>(warmup < updates, "--warmup: the training has ", updates, " updates: ", warmup,
                    ". Give fewer.");
  const double highest = options.learning_rate;
  if (options.schedule_name == "cosine")
    return optim::warmup_cosine(highest, highest / options.lowest_divisor, warmup, updates);
  const optim::Schedule after = options.schedule_name == "linear"
                                    ? optim::polynomial(highest, updates - warmup)
                                    : optim::constant(highest);
  return warmup > 0 ? optim::warmup(warmup, after) : after;
}

}  // namespace plimsoll::examples
