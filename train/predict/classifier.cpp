#include "train/predict/classifier.h"

#include <algorithm>
#include <numeric>

#include "autograd/no_grad.h"
#include "memory/step/passes.h"
#include "ops/ops.h"
#include "train/batches.h"
#include "train/budget.h"
#include "train/objective.h"

namespace plimsoll::train {
namespace {

// Other bytes than these can hardly be had: nothing of a forward pass is kept.
constexpr BudgetOptions kPlanning{.costs = CostModel::model, .search_seconds = 0.25};

data::LoaderAttrs batches_of(const data::Normalization& normalization,
                             const data::ImageDataset& images, const ClassifyOptions& options) {
  return {.batch = std::min(options.batch, images.count()),
          .workers = 0,
          .prefetch = 0,
          .device = options.device,
          .normalization = normalization};
}

// x, y -> {loss, guesses, probabilities [N, classes]}
StepFunction classify(const nn::Module& model, Precision precision) {
  return [&model, precision, objective = classification()](std::span<const Tensor> in) {
    const NoGrad no_grad;
    const Autocast scope(precision);
    const Tensor logits = model(in[0]);
    return std::vector{objective.loss(logits, in[1]), objective.guess(logits), softmax(logits)};
  };
}

}  // namespace

Classifier::Classifier(const nn::Module& model, const data::Normalization& normalization,
                       const data::ImageDataset& images, const ClassifyOptions& options)
    : options_(options),
      pool_(*default_pool(options.device)),
      loader_(images, batches_of(normalization, images, options)),
      function_(classify(model, options.precision)),
      kinds_(kinds_of(loader_)),
      host_share_(options.device == Device::cpu ? loader_.host_bytes() : 0),
      step_(function_, {.budget = options.budget == StepOptions::kNoBudget
                                      ? StepOptions::kNoBudget
                                      : std::max<int64_t>(1, options.budget - host_share_),
                        .planning = kPlanning}),
      planned_(plan()) {
  if (options.budget != StepOptions::kNoBudget) pool_.set_limit(options.budget - host_share_);
}

int64_t Classifier::plan() {
  try {
    int64_t most = 0;
    for (const bool known : {false, true})  // twice, as a Step under a budget wants it
      for (const Metas& kind : kinds_) {
        const int64_t bytes = step_.plan(kind).total_bytes();
        if (known) most = std::max(most, bytes);
      }
    return most;
  } catch (const BudgetError&) {
    std::vector<Program> programs;
    for (const Metas& kind : kinds_) programs.push_back(capture_live(function_, kind));
    fail<UsageError>("predict: the budget is too small: ", options_.budget,
                     " bytes, and the smallest plan found takes ",
                     smallest_budget(programs, kPlanning) + host_share_, " for batches of ",
                     loader_.attrs().batch, ". Allow that many, or take smaller batches.");
  }
}

Classified Classifier::run() {
  Classified all;
  pool_.reset_peak();
  loader_.start(0);
  while (const auto batch = loader_.next()) {  // one after the other, as it was planned
    const std::vector<Tensor> results = step_.run({batch->x, batch->y});
    all.score.add(results[0], results[1], batch->y);
    all.classes = results[2].size(1);
    const auto guesses = results[1].to_vector<int64_t>();
    const auto probabilities = results[2].to_vector<float>();
    all.guesses.insert(all.guesses.end(), guesses.begin(), guesses.end());
    all.probabilities.insert(all.probabilities.end(), probabilities.begin(), probabilities.end());
  }
  all.peak_bytes = pool_.stats().peak.bytes;
  step_.release_arena();
  return all;
}

std::string class_name(const std::vector<std::string>& names, int64_t label) {
  return 0 <= label && label < std::ssize(names) ? names[static_cast<size_t>(label)] : cat(label);
}

std::vector<Prediction> top(std::span<const float> probabilities, int64_t k) {
  std::vector<int64_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return probabilities[static_cast<size_t>(a)] > probabilities[static_cast<size_t>(b)];
  });
  std::vector<Prediction> best;
  for (const int64_t label : order) {
    if (std::ssize(best) == k) break;
    best.push_back({label, probabilities[static_cast<size_t>(label)]});
  }
  return best;
}

}  // namespace plimsoll::train
