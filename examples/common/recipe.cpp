#include "examples/common/recipe.h"

#include <algorithm>

#include "nn/decoder/block.h"
#include "nn/embedding.h"
#include "optim/adam.h"
#include "optim/eight_bit.h"
#include "optim/muon.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"
#include "train/trainer.h"

namespace plimsoll::examples {
namespace {

constexpr double kMomentum = 0.9;

std::unique_ptr<optim::Optimizer> make_optimizer(const Options& options,
                                                 std::vector<Tensor> parameters, double decay) {
  const double beta2 = options.beta2;
  if (options.optimizer == "adam")
    return std::make_unique<optim::Adam>(std::move(parameters),
                                         optim::AdamOptions{.beta2 = beta2, .weight_decay = decay});
  if (options.optimizer == "adamw" || options.optimizer == "muon")
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

// The matrices between, which Muon is for: not tables, whose rows are looked up.
std::vector<bool> are_hidden_matrices(const nn::Module& model) {
  std::vector<Tensor> tables;
  model.visit([&](const std::string&, const nn::Module& module) {
    const bool looked_up = dynamic_cast<const nn::Embedding*>(&module) ||
                           dynamic_cast<const nn::LearnedPositions*>(&module) ||
                           dynamic_cast<const nn::DecoderTable*>(&module);
    if (looked_up)
      for (const Tensor& table : module.parameters()) tables.push_back(table);
  });
  std::vector<bool> hidden;
  for (const Tensor& p : model.parameters())
    hidden.push_back(p.rank() == 2 && std::ranges::none_of(tables, [&](const Tensor& table) {
                       return table.value().storage == p.value().storage;
                     }));
  return hidden;
}

}  // namespace

void add_recipe_options(CommandLine& app, Options& options) {
  app.group("Recipe");
  app.add_option("--lr", options.learning_rate, "Highest learning rate")
      ->check(positive_number())
      ->capture_default_str();
  app.add_option("--optimizer", options.optimizer,
                 "What updates the weights; sgd has a momentum of 0.9, 8bit says how its state is "
                 "kept, muon is of the matrices between, with adamw for the rest")
      ->check(one_of({"adam", "adamw", "sgd", "rmsprop", "adamw8bit", "sgd8bit", "muon"}))
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
  std::vector<bool> by_muon(parameters_.size());
  if (options.optimizer == "muon") {
    by_muon = are_hidden_matrices(model);
    std::vector<Tensor> hidden;
    for (size_t i = 0; i < by_muon.size(); ++i)
      if (by_muon[i]) hidden.push_back(parameters_[i]);
    check<UsageError>(!hidden.empty(),
                      "--optimizer muon: the model has no matrix between its layers. Use adamw.");
    groups_.emplace_back("hidden", std::make_unique<optim::Muon>(
                                       std::move(hidden),
                                       optim::MuonOptions{.weight_decay = options.weight_decay,
                                                          .scale = optim::MuonScale::like_adamw}));
  }
  for (const bool matrices : {true, false}) {
    std::vector<Tensor> some;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if ((parameters_[i].rank() >= 2) == matrices && !by_muon[i]) some.push_back(parameters_[i]);
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

void refuse_impossible_budget(
    const Options& options,
    const std::function<std::unique_ptr<nn::Module>(nn::Initializer&)>& make,
    const train::Batches& training, const train::Batches& held_out) {
  // A device without bytes plans as a CPU does.
  if (options.budget <= 0 || device_named(options.device) != Device::cpu) return;
  train::make_exact(*default_pool(Device::null));
  nn::Initializer init{.placement = {.device = Device::null}};
  const auto model = make(init);
  const Recipe recipe(*model, options);
  train::Trainer::check_held(*model, recipe.optimizer(), training, held_out, options);
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
