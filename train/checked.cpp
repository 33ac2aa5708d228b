#include "train/checked.h"

#include <algorithm>

#include "train/saves.h"

namespace plimsoll::train {
namespace {

bool same_but_batch(Shape a, const Shape& b) {
  if (a.rank() == 0 || a.rank() != b.rank()) return a == b;
  a[0] = b[0];
  return a == b;
}

// What a column of the log or of an evaluation is called already.
constexpr const char* kOwnFigures[] = {
    "batches", "loss",    "mean_loss",     "val_loss",         "accuracy", "perplexity",
    "memory",  "planned", "learning_rate", "items_per_second", "time"};

void check_names(const std::vector<Metric>& metrics) {
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string& name = metrics[i].name;
    const bool taken =
        std::ranges::find(kOwnFigures, name) != std::end(kOwnFigures) ||
        std::any_of(metrics.begin(), metrics.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Metric& other) { return other.name == name; });
    check<ValueError>(!name.empty() && !taken && name.find_first_of(",\n\"") == std::string::npos,
                      "train: a metric cannot be called \"", name,
                      "\": it is a column of the log. Give it a name of its own, without commas.");
  }
}

}  // namespace

TrainOptions checked(TrainOptions options) {
  check<ValueError>(
      options.epochs >= 0 && options.steps >= 0 && (options.epochs > 0) != (options.steps > 0),
      "train: it is as long as its epochs or its steps say: ", options.epochs, " and ",
      options.steps, ". Give one of them.");
  for (const auto& [name, value] : {std::pair("evaluate_every", options.evaluate_every),
                                    {"patience", options.patience},
                                    {"stop_after", options.stop_after},
                                    {"save_every", options.save_every},
                                    {"log_every", options.log_every},
                                    {"histograms", options.histograms}})
    check<ValueError>(value >= 0, "train: ", name, " counts from 0: ", value, ". Give 0 or more.");
  check<ValueError>(options.keep >= 1, "train: no save would be kept: ", options.keep,
                    ". Keep 1 or more.");
  check<ValueError>(options.clip_norm >= 0,
                    "train: the largest norm of gradients is below 0: ", options.clip_norm,
                    ". Give 0 for no clipping, or more.");
  check<ValueError>(static_cast<bool>(options.objective.loss),
                    "train: there is no loss. Set Objective::loss.");
  check_names(options.objective.metrics);
  check<ValueError>(options.accumulate >= 1, "train: an update needs batches: ", options.accumulate,
                    ". Accumulate 1 or more.");
  check<ValueError>(options.prune >= 0 && options.prune < 1,
                    "train: the share to prune is not in [0, 1): ", options.prune,
                    ". Use one as 0.8.");
  check<UsageError>(options.histograms == 0 || !options.tensorboard.empty(),
                    "histograms: they go into event files, and there are none: ",
                    options.histograms, ". Name a folder for tensorboard.");
  if (options.resume && options.resume_from.empty()) options.resume_from = options.run;
  if (options.resume) options.resume_from = file_named(options.resume_from).string();
  check<UsageError>(!options.resume || !options.resume_from.empty(),
                    "train: there is no run to go on with. Name its folder.");
  check<UsageError>(options.resume || !options.evaluate_only,
                    "train: there is nothing to evaluate without a run. Set resume too.");
  check<UsageError>(options.resume || options.resume_from.empty(),
                    "train: a run to go on from is named, and it is not to be resumed: ",
                    options.resume_from, ". Set resume too.");
  return options;
}

optim::ParameterGroups matched(const optim::ParameterGroups& optimizer, const nn::Module& model) {
  const std::vector<Tensor> parameters = model.parameters();
  check<ValueError>(!parameters.empty(),
                    "train: the model has no parameters. Give it something to learn.");
  return optimizer.in_order_of(parameters);
}

void check_data(const Batches& training, const Batches& held_out, const Objective& objective) {
  const Metas& kind = training.kinds.front();
  for (const Metas& other : training.kinds)
    check<ValueError>(other == kind, "train: training batches differ in size: ", kind[0], " and ",
                      other[0], ". Make all of them alike: a loader does with drop_last.");
  check<ValueError>(held_out.count > 0, "train: there is nothing to evaluate on: ", held_out.count,
                    " batches. Pass those of a data set.");
  for (const Metas& other : held_out.kinds)
    check<ShapeError>(same_but_batch(other[0].shape, kind[0].shape),
                      "train: what it is evaluated on has another shape: ", other[0].shape, " and ",
                      kind[0].shape, " in training. Use data of one shape.");
  check<ValueError>(!objective.guess || !is_floating(kind[1].dtype),
                    "train: guesses are of classes, and labels are ", kind[1].dtype,
                    ". Leave Objective::guess empty.");
}

}  // namespace plimsoll::train
