#include "examples/measure/fitting.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "examples/common/options.h"
#include "memory/step/passes.h"
#include "nn/decoder/packed.h"

namespace plimsoll::examples {
namespace {

constexpr double kSecondsEach = 2e-4;   // of a search from scratch, for each instruction
constexpr double kMostTimes = 2;        // the step without recompute: more is not worth its memory
constexpr int64_t kManyExamples = 256;  // of which one more or less is no matter
constexpr double kAnother = 8;  // times as large, a batch can begin with what was found for another

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

// A folder's model makes the loss without logits.
train::Objective objective_of(const nn::Module& model) {
  train::Objective objective = train::classification();
  if (const auto* packed = dynamic_cast<const nn::Packed*>(&model))
    objective.loss = [packed](const Tensor& y, const Tensor& labels) {
      return packed->decoder().loss(y, labels);
    };
  return objective;
}

Fit fit_of(const PlannedProgram& planned, int64_t batch, const Lanes& lanes) {
  return {.batch = batch,
          .bytes = planned.plan.total_bytes() + planned.plan.result_bytes,
          .seconds = lanes.seconds,
          .lanes = lanes,
          .at_peak = planned.plan.at_peak};
}

}  // namespace

ModelStep::ModelStep(const FitModel& model, Precision precision, Device device)
    : choice_(model), device_(device), model_(make_model(model, device)) {
  options_.optimizer = is_text(model) ? "adamw" : "adam";
  options_.weight_decay = is_text(model) ? 0.1 : 0;
  recipe_.emplace(*model_, options_);
  optimizer_.emplace(recipe_->optimizer());
  options_.objective = objective_of(*model_);
  options_.precision = precision;
  options_.clip_norm = is_text(model) ? 1 : 0;
  options_.shard = model.shard;
  if (model.ranks > 0) {
    Ranks* const here = device == Device::null ? nullptr : Ranks::current();
    ranks_ = here && here->size() == model.ranks ? here : &planned_.emplace(0, model.ranks);
  }
  step_.emplace(*model_, *optimizer_, options_,
                train::Windows{.most = ranks_ ? model.accumulate : 1},
                /*updates=*/0, ranks_);
  const auto& shared = step_->window().shared();
  const int64_t runs = shared ? shared->most_runs() : 1;
  step_->window().at(runs - 1, runs);
  function_ = step_->train(precision);
}

Metas ModelStep::inputs(int64_t batch) const {
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

std::vector<Tensor> ModelStep::operator()(std::span<const Tensor> in) const {
  const RanksScope ranks(ranks_);
  return function_(in);
}

Lanes predicted(const Program& program, const FitOptions& options) {
  std::vector<double> seconds;
  for (const Instruction& instruction : program.instructions)
    seconds.push_back(modelled_seconds(instruction, options.speed));
  return two_lanes(program, seconds, options.link);
}

const Program& FitSearch::program_for(int64_t batch) {
  const auto [entry, is_new] = programs_.try_emplace(batch);
  if (is_new) entry->second = capture_live([&](auto in) { return step_(in); }, step_.inputs(batch));
  return entry->second;
}

const PlannedProgram& FitSearch::without_budget(int64_t batch) {
  const auto found = plans_.find(batch);
  if (found != plans_.end()) return found->second;
  return plans_.emplace(batch, plan_step(program_for(batch), {})).first->second;
}

const BudgetPlanner& FitSearch::planner_for(int64_t batch) {
  if (const auto found = planners_.find(batch); found != planners_.end()) return found->second;
  const Program& program = program_for(batch);
  BudgetOptions planning{CostModel::model, options_.search_seconds};
  const bool by_program = planning.search_seconds == 0;
  if (by_program)
    planning.search_seconds = kSecondsEach * static_cast<double>(program.instructions.size());
  const BudgetPlanner* like = nullptr;
  if (by_program && !planners_.empty()) {
    const auto distance = [&](const auto& planned) {
      return std::abs(std::log(static_cast<double>(planned.first) / static_cast<double>(batch)));
    };
    const auto nearest = std::ranges::min_element(planners_, {}, distance);
    if (distance(*nearest) < std::log(kAnother)) like = &nearest->second;
  }
  return planners_.try_emplace(batch, budget_planner(program, planning, like)).first->second;
}

// The batch's plan within so many bytes, if it is one that is asked for.
std::optional<Fit> FitSearch::fit(int64_t batch, int64_t bytes, Recomputing recomputing) {
  if (recomputing == Recomputing::none) {
    const PlannedProgram& planned = without_budget(batch);
    const Fit fit = fit_of(planned, batch, predicted(planned.program, options_));
    return fit.bytes > bytes ? std::nullopt : std::optional(fit);
  }
  const BudgetPlanner& planner = planner_for(batch);
  if (!planner.possible(bytes)) return std::nullopt;
  const PlannedProgram planned = plan_within(planner, bytes);
  const Lanes lanes = predicted(planned.program, options_);
  const double kept = predicted(program_for(batch), options_).computing;
  if (recomputing == Recomputing::up_to_a_tenth && lanes.computing > 1.1 * kept)
    return std::nullopt;
  if (batch > 1 && lanes.computing > kMostTimes * kept) return std::nullopt;
  Fit fit = fit_of(planned, batch, lanes);
  if (planned.plan.recompute.repetitions > 0) fit.added_seconds = lanes.computing - kept;
  return fit;
}

// Within a tenth plan by plan, downwards from the one that makes nothing again.
int64_t FitSearch::least_bytes(Recomputing recomputing) {
  if (recomputing == Recomputing::none) return fit_of(without_budget(1), 1, {}).bytes;
  if (recomputing == Recomputing::smallest) return planner_for(1).smallest();
  int64_t bytes = planner_for(1).largest();
  while (const auto smaller = fit(1, bytes - 1, recomputing)) bytes = smaller->bytes;
  return bytes;
}

// Without recompute memory is nearly a line over the batch: a first guess, then steps that grow
// until one batch fits and a larger one does not, then halves. With recompute the steps begin at
// what fits without.
Fit FitSearch::largest_batch(int64_t bytes, Recomputing recomputing) {
  const bool keeps = recomputing == Recomputing::none;
  std::optional<Fit> best;
  if (!keeps) best = largest_batch(bytes, Recomputing::none);
  if (!best || best->batch == 0) best = fit(1, bytes, recomputing);
  if (!best) return {.least_bytes = least_bytes(recomputing)};
  int64_t probe = 2 * best->batch, stride = probe, too_large = options_.most + 1;
  if (keeps) {
    const int64_t slope = (fit_of(without_budget(9), 9, {}).bytes - best->bytes) / 8;
    probe = std::max<int64_t>(2, 1 + (bytes - best->bytes) / std::max<int64_t>(1, slope));
    stride = std::max<int64_t>(1, probe / 64);
  }
  probe = std::min(probe, options_.most);
  const auto is_close = [&] {
    return too_large - best->batch <= (keeps ? 1 : 1 + best->batch / kManyExamples);
  };
  for (; !is_close(); stride *= 2) {
    if (auto found = fit(probe, bytes, recomputing)) {
      best = std::move(found);
      probe = too_large > options_.most ? std::min(best->batch + stride, options_.most)
                                        : std::midpoint(best->batch, too_large);
    } else {
      too_large = probe;
      probe = best->batch > 1 || stride > too_large / 2 ? std::midpoint(best->batch, too_large)
                                                        : too_large - stride;
    }
  }
  return *best;
}

}  // namespace plimsoll::examples
