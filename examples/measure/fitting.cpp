#include "examples/measure/fitting.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "autograd/gradients.h"
#include "examples/common/options.h"
#include "memory/passes/dead_code.h"
#include "memory/step/passes.h"
#include "ops/ops.h"
#include "optim/clip.h"

namespace plimsoll::examples {
namespace {

bool is_text(const FitModel& model) {
  return std::ranges::find(text_model_names(), model.name) != text_model_names().end();
}

std::unique_ptr<Staged> make_model(const FitModel& model, Device device) {
  nn::Initializer init{.placement = {.device = device}};
  if (model.name == "gpt") return make_gpt(model.gpt, /*checkpoint=*/false, init);
  if (model.name == "gpt2-124M") return make_gpt(kGpt2, /*checkpoint=*/false, init);
  if (model.name == "textcls")
    return make_text_classifier({.context = model.context}, /*checkpoint=*/false, init);
  return make_cnn(model.name, model.image, /*checkpoint=*/false, init);
}

optim::LossScaler scaler_for(Precision precision, Device device) {
  return precision == Precision::f16 ? optim::LossScaler::dynamic({}, device)
                                     : optim::LossScaler::none();
}

// Plans of one training step, each made once.
class Plans {
 public:
  Plans(const TrainingStep& step, Recomputing recomputing, const FitOptions& options)
      : step_(step), recomputing_(recomputing), options_(options) {}

  // The batch's plan within so many bytes, if it is one that is asked for.
  std::optional<Fit> fit(int64_t batch, int64_t bytes) {
    const BudgetPlanner& planner = planner_for(batch);
    if (planner.largest() > bytes &&
        (recomputing_ == Recomputing::none || planner.smallest() > bytes))
      return std::nullopt;
    const PlannedProgram planned = planner.plan_within(bytes);
    const Recompute& recompute = planned.plan.recompute;
    const Lanes lanes = predicted(planned.program, options_);
    const double kept = predicted(program_for(batch), options_).computing;
    if (recomputing_ == Recomputing::up_to_a_tenth && lanes.computing > 1.1 * kept)
      return std::nullopt;
    return Fit{.batch = batch,
               .bytes = planned.plan.total_bytes() + planned.plan.result_bytes,
               .seconds = lanes.seconds,
               .added_seconds = recompute.repetitions > 0 ? lanes.computing - kept : 0,
               .lanes = lanes};
  }

  // About what a batch takes in this way.
  int64_t guess(int64_t batch) {
    const BudgetPlanner& planner = planner_for(batch);
    return recomputing_ == Recomputing::none ? planner.largest() : planner.smallest();
  }

  // What it takes at least; within a tenth plan by plan, downwards from the one that makes nothing
  // again.
  int64_t least(int64_t batch) {
    if (recomputing_ != Recomputing::up_to_a_tenth) return guess(batch);
    int64_t bytes = planner_for(batch).largest();
    while (const auto smaller = fit(batch, bytes - 1)) bytes = smaller->bytes;
    return bytes;
  }

 private:
  const Program& program_for(int64_t batch) {
    const auto [entry, is_new] = programs_.try_emplace(batch);
    if (is_new)
      entry->second = remove_dead(capture([&](auto in) { return step_(in); }, step_.inputs(batch)));
    return entry->second;
  }
  const BudgetPlanner& planner_for(int64_t batch) {
    const auto found = planners_.find(batch);
    if (found != planners_.end()) return found->second;
    return planners_
        .try_emplace(
            batch, budget_planner(program_for(batch), {CostModel::model, options_.search_seconds}))
        .first->second;
  }

  const TrainingStep& step_;
  Recomputing recomputing_;
  const FitOptions& options_;
  std::map<int64_t, Program> programs_;
  std::map<int64_t, BudgetPlanner> planners_;
};

}  // namespace

TrainingStep::TrainingStep(const FitModel& model, Precision precision, Device device)
    : choice_(model),
      precision_(precision),
      device_(device),
      model_(make_model(model, device)),
      parameters_(model_->parameters()),
      scaler_(scaler_for(precision, device)) {
  if (model.ranks > 0) {
    ranks_.emplace(0, model.ranks);
    window_.emplace(parameters_, model.accumulate, 0, model.ranks);
  }
  if (window_ && window_->shared()) {
    statistics_.emplace(*model_, *window_->shared());
    const int64_t runs = window_->shared()->most_runs();
    window_->at(runs - 1, runs);
  }
  if (!is_text(model)) {
    optimizers_.push_back(optim::Adam(parameters_));
    return;
  }
  std::vector<Tensor> matrices, vectors;
  for (const Tensor& p : parameters_) (p.rank() >= 2 ? matrices : vectors).push_back(p);
  optimizers_.push_back(optim::AdamW(std::move(matrices), {.weight_decay = 0.1}));
  optimizers_.push_back(optim::AdamW(std::move(vectors), {.weight_decay = 0}));
}

Metas TrainingStep::inputs(int64_t batch) const {
  const Meta key{{2}, DType::i64, device_};
  if (!is_text(choice_)) {
    const ImageSize& image = choice_.image;
    return {{{batch, image.height, image.width, image.channels}, DType::f32, device_},
            {{batch}, DType::i64, device_},
            key};
  }
  const int64_t context = choice_.name == "gpt" ? choice_.gpt.context : choice_.context;
  const Meta ids{{batch, context}, DType::i64, device_};
  return {ids, choice_.name == "textcls" ? Meta{{batch}, DType::i64, device_} : ids, key};
}

std::vector<Tensor> TrainingStep::operator()(std::span<const Tensor> in) const {
  const Autocast scope(precision_);
  const RanksScope ranks(ranks_ ? &*ranks_ : nullptr);
  nn::Mode mode = nn::training(in[2]);
  if (statistics_) mode.statistics = &*statistics_;
  const Tensor loss = cross_entropy((*model_)(in[0], mode), in[1]);
  const Tensor weight = window_ ? window_->weight(optim::counted(in[1])) : Tensor();
  std::vector<Tensor> sums = gradients(scaler_.scale(loss), parameters_);
  if (window_) sums = window_->add(std::move(sums), weight);
  if (statistics_) statistics_->apply();
  auto [grads, skip] = scaler_.unscale(std::move(sums));
  if (is_text(choice_)) {
    grads = optim::clip_by_global_norm(grads, 1.0).grads;
    std::vector<Tensor> matrices, vectors;
    for (const Tensor& grad : grads) (grad.rank() >= 2 ? matrices : vectors).push_back(grad);
    optimizers_[0].update(matrices, skip);
    optimizers_[1].update(vectors, skip);
  } else {
    optimizers_[0].update(grads, skip);
  }
  scaler_.update(skip);
  return {loss};
}

Lanes predicted(const Program& program, const FitOptions& options) {
  std::vector<double> seconds;
  for (const Instruction& instruction : program.instructions)
    seconds.push_back(modelled_seconds(instruction, options.speed));
  return two_lanes(program, seconds, options.link);
}

Fit largest_batch(const TrainingStep& step, int64_t bytes, Recomputing recomputing,
                  const FitOptions& options) {
  Plans plans(step, recomputing, options);
  std::optional<Fit> best = plans.fit(1, bytes);
  if (!best) return {.least_bytes = plans.least(1)};
  // Memory is nearly a line over the batch: a first guess, then steps that grow until one batch
  // fits and a larger one does not, then halves.
  const int64_t one = plans.guess(1), slope = std::max<int64_t>(1, (plans.guess(9) - one) / 8);
  int64_t probe = std::min(std::max<int64_t>(2, 1 + (bytes - one) / slope), options.most);
  int64_t too_large = options.most + 1;
  for (int64_t stride = std::max<int64_t>(1, probe / 64); too_large - best->batch > 1;) {
    if (auto found = plans.fit(probe, bytes)) {
      best = std::move(found);
      if (too_large <= options.most) {
        probe = std::midpoint(best->batch, too_large);
        continue;
      }
      probe = std::min(best->batch + stride, options.most);
    } else {
      too_large = probe;
      probe = best->batch > 1 || stride > too_large / 2 ? std::midpoint(best->batch, too_large)
                                                        : too_large - stride;
    }
    stride *= 2;
  }
  return *best;
}

}  // namespace plimsoll::examples
