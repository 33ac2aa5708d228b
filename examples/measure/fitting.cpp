#include "examples/measure/fitting.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "autograd/gradients.h"
#include "examples/common/options.h"
#include "memory/passes/dead_code.h"
#include "memory/step/passes.h"
#include "nn/decoder/packed.h"
#include "ops/ops.h"
#include "optim/clip.h"

namespace plimsoll::examples {
namespace {

constexpr double kSecondsEach = 2e-4;  // of a search from scratch, for each instruction
constexpr double kMostTimes = 2;       // the step without recompute: more is not worth its memory
constexpr double kPart = 0.2;          // of them, for a batch like another,
constexpr int64_t kAnother = 8;        // up to so many times as large

bool is_text(const FitModel& model) {
  return model.tuning.config ||
         std::ranges::find(text_model_names(), model.name) != text_model_names().end();
}

std::unique_ptr<nn::Module> make_model(const FitModel& model, Device device) {
  nn::Initializer init{.placement = {.device = device}};
  if (model.tuning.config)
    return as_usage("--lora", [&] {
      return std::make_unique<nn::Packed>(std::make_unique<nn::Decoder>(
          model.tuning.config->decoder,
          device == Device::null ? nn::null_weights(model.tuning.base_type())
                                 : nn::drawn_weights(init),
          init, decoder_options(model.tuning, model.context)));
    });
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
    if (recomputing_ == Recomputing::none) {
      const PlannedProgram& planned = without_budget(batch);
      const Fit fit = fit_of(planned, batch, predicted(planned.program, options_));
      return fit.bytes > bytes ? std::nullopt : std::optional(fit);
    }
    const BudgetPlanner& planner = planner_for(batch);
    if (planner.largest() > bytes && planner.smallest() > bytes) return std::nullopt;
    const PlannedProgram planned = plan_within(planner, bytes);
    const Recompute& recompute = planned.plan.recompute;
    const Lanes lanes = predicted(planned.program, options_);
    const double kept = predicted(program_for(batch), options_).computing;
    if (recomputing_ == Recomputing::up_to_a_tenth && lanes.computing > 1.1 * kept)
      return std::nullopt;
    if (batch > 1 && lanes.computing > kMostTimes * kept) return std::nullopt;
    Fit fit = fit_of(planned, batch, lanes);
    if (recompute.repetitions > 0) fit.added_seconds = lanes.computing - kept;
    return fit;
  }

  // About what a batch takes in this way.
  int64_t guess(int64_t batch) {
    if (recomputing_ == Recomputing::none) return fit_of(without_budget(batch), batch, {}).bytes;
    return planner_for(batch).smallest();
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
  static Fit fit_of(const PlannedProgram& planned, int64_t batch, const Lanes& lanes) {
    return {.batch = batch,
            .bytes = planned.plan.total_bytes() + planned.plan.result_bytes,
            .seconds = lanes.seconds,
            .lanes = lanes,
            .at_peak = planned.plan.at_peak};
  }
  const PlannedProgram& without_budget(int64_t batch) {
    const auto found = plans_.find(batch);
    if (found != plans_.end()) return found->second;
    return plans_.emplace(batch, plan_step(program_for(batch), {})).first->second;
  }
  const Program& program_for(int64_t batch) {
    const auto [entry, is_new] = programs_.try_emplace(batch);
    if (is_new)
      entry->second = remove_dead(capture([&](auto in) { return step_(in); }, step_.inputs(batch)));
    return entry->second;
  }
  const BudgetPlanner& planner_for(int64_t batch) {
    if (const auto found = planners_.find(batch); found != planners_.end()) return found->second;
    const Program& program = program_for(batch);
    BudgetOptions planning{CostModel::model, options_.search_seconds};
    const bool by_program = planning.search_seconds == 0;
    if (by_program)
      planning.search_seconds = kSecondsEach * static_cast<double>(program.instructions.size());
    const BudgetPlanner* like = nullptr;
    if (by_program && searched_ > 0 && batch < kAnother * searched_ &&
        searched_ < kAnother * batch) {
      like = &planners_.at(searched_);
      planning.search_seconds *= kPart;
    } else {
      searched_ = batch;
    }
    return planners_.try_emplace(batch, budget_planner(program, planning, like)).first->second;
  }

  const TrainingStep& step_;
  Recomputing recomputing_;
  const FitOptions& options_;
  std::map<int64_t, Program> programs_;
  std::map<int64_t, PlannedProgram> plans_;
  std::map<int64_t, BudgetPlanner> planners_;
  int64_t searched_ = 0;  // the last batch that was searched from scratch
};

}  // namespace

TrainingStep::TrainingStep(const FitModel& model, Precision precision, Device device)
    : choice_(model),
      precision_(precision),
      device_(device),
      model_(make_model(model, device)),
      parameters_(model_->parameters()),
      scaler_(scaler_for(precision, device)) {
  if (!is_text(model)) {
    optimizers_.push_back(optim::Adam(parameters_));
    groups_.emplace(optimizers_[0]);
  } else {
    std::vector<Tensor> matrices, vectors;
    for (const Tensor& p : parameters_) (p.rank() >= 2 ? matrices : vectors).push_back(p);
    std::vector<optim::ParameterGroup> groups;
    optimizers_.reserve(2);  // groups refer to them
    const auto add = [&](const char* name, std::vector<Tensor> some, double decay) {
      if (some.empty()) return;
      optimizers_.push_back(optim::AdamW(std::move(some), {.weight_decay = decay}));
      groups.push_back({name, optimizers_.back()});
    };
    add("matrices", std::move(matrices), 0.1);
    add("vectors", std::move(vectors), 0);
    groups_.emplace(std::move(groups), parameters_);
  }
  if (model.ranks == 0) return;
  ranks_.emplace(0, model.ranks);
  window_.emplace(parameters_, model.accumulate, 0, model.ranks, groups_->group_of_each(),
                  model.shard);
  const auto& shared = window_->shared();
  if (!shared) return;
  statistics_.emplace(*model_, *shared);
  window_->at(shared->most_runs() - 1, shared->most_runs());
  shards_.emplace(parameters_, *groups_, *shared, 0, model.ranks, model.shard);
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
  if (choice_.tuning.config) return {{{batch, 3, context}, DType::i64, device_}, ids, key};
  return {ids, choice_.name == "textcls" ? Meta{{batch}, DType::i64, device_} : ids, key};
}

std::vector<Tensor> TrainingStep::operator()(std::span<const Tensor> in) const {
  const RanksScope ranks(ranks_ ? &*ranks_ : nullptr);
  auto [loss, sums] = add_batch(in);
  if (statistics_) statistics_->apply();
  const double clip_norm = is_text(choice_) ? 1 : 0;
  if (shards_) {
    scaler_.update(shards_->update(std::move(sums), scaler_, clip_norm).skip);
    return {loss};
  }
  const auto [grads, skip] = scaler_.unscale(std::move(sums));
  groups_->update(clip_norm > 0 ? optim::clip_by_global_norm(grads, clip_norm).grads : grads, skip);
  scaler_.update(skip);
  return {loss};
}

// Its loss, and what its window then gives.
std::pair<Tensor, std::vector<Tensor>> TrainingStep::add_batch(std::span<const Tensor> in) const {
  const optim::Shards::Gathered gathered(shards_);
  const Autocast scope(precision_);
  nn::Mode mode = nn::training(in[2]);
  if (statistics_) mode.statistics = &*statistics_;
  const Tensor output = (*model_)(in[0], mode);
  const auto* packed = dynamic_cast<const nn::Packed*>(model_.get());
  const Tensor loss = packed ? packed->decoder().loss(output, in[1]) : cross_entropy(output, in[1]);
  const Tensor weight = window_ ? window_->weight(optim::counted(in[1])) : Tensor();
  std::vector<Tensor> sums = gradients(scaler_.scale(loss), parameters_);
  if (window_) sums = window_->add(std::move(sums), weight);
  return {loss, std::move(sums)};
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
