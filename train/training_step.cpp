#include "train/training_step.h"

#include <charconv>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "core/ranks/ranks.h"
#include "optim/clip.h"
#include "train/state.h"

namespace plimsoll::train {
namespace {

optim::SparsitySchedule sparsity_schedule(double share, int64_t updates) {
  const int64_t every = std::max<int64_t>(1, updates / 100), begin = updates / 10;
  return {.final = share,
          .begin = begin,
          .end = begin + updates * 6 / 10 / every * every,
          .frequency = every};
}

}  // namespace

std::string loss_scale_of(const TrainOptions& options) {
  const std::string& scale = options.loss_scale;
  if (scale.empty()) return options.precision == Precision::f16 ? "dynamic" : "none";
  if (scale == "dynamic" || scale == "none") return scale;
  double value = 0;
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), value);
  check<ValueError>(error == std::errc() && end == scale.data() + scale.size(),
                    "train: no such loss scale: ", scale, ". Use dynamic, none or a number.");
  return cat(value);
}

optim::LossScaler make_scaler(const TrainOptions& options, Device device) {
  const std::string scale = loss_scale_of(options);
  if (scale == "none") return optim::LossScaler::none();
  if (scale == "dynamic") return optim::LossScaler::dynamic({}, device);
  return optim::LossScaler::fixed(std::stod(scale), device);
}

TrainingStep::TrainingStep(const nn::Module& model, optim::ParameterGroups& optimizer,
                           const TrainOptions& options, const Windows& windows, int64_t updates,
                           const Ranks* ranks)
    : model_(model),
      parameters_(model.parameters()),
      optimizer_(optimizer),
      options_(options),
      windows_(windows),
      scaler_(make_scaler(options, parameters_.front().device())),
      window_(ranks ? optim::Accumulation(parameters_, windows.most, ranks->rank(), ranks->size(),
                                          optimizer.group_of_each(), options.shard)
                    : optim::Accumulation(parameters_, windows.most)) {
  if (window_.shared()) {
    shards_.emplace(parameters_, optimizer_, *window_.shared(), ranks->rank(), ranks->size(),
                    options.shard);
    statistics_.emplace(model, *window_.shared());
  }
  if (options.schedule && scaler_.current().defined())
    async_rate_.emplace(options.schedule, optimizer.steps());
  if (options.prune > 0)
    pruner_.emplace(optim::prunable(model.named_parameters()),
                    optim::PruneOptions{.schedule = sparsity_schedule(options.prune, updates)});
}

StepFunction TrainingStep::train(Precision precision, bool return_gradients) const {
  return [this, precision, return_gradients](std::span<const Tensor> in) {
    if (async_rate_) optimizer_.set(*async_rate_);
    const auto [loss, sums] = add_batch(in, precision);
    std::vector results{loss};
    if (sums.empty()) return results;  // the window goes on
    if (statistics_) statistics_->apply();
    const auto [skip, grads] = update(std::move(sums), return_gradients);
    if (pruner_) pruner_->apply();
    scaler_.update(skip);
    if (return_gradients) results.insert(results.end(), grads.begin(), grads.end());
    return results;
  };
}

// Its loss, and what the window then gives.
std::pair<Tensor, std::vector<Tensor>> TrainingStep::add_batch(std::span<const Tensor> in,
                                                               Precision precision) const {
  const optim::Shards::Gathered gathered(shards_);
  const Autocast scope(precision);
  nn::Mode mode = nn::training(in[2]);
  if (statistics_) {
    statistics_->begin_batch();
    mode.statistics = &*statistics_;
  }
  const Tensor loss = options_.objective.loss(model_(in[0], mode), in[1]);
  const Tensor weight = window_.weight(count_labels(in[1]));
  std::vector<Tensor> sums = gradients(scaler_.scale(loss), parameters_);
  return {loss, window_.add(std::move(sums), weight)};
}

optim::Shards::Updated TrainingStep::update(std::vector<Tensor> sums, bool return_grads) const {
  if (shards_) return shards_->update(std::move(sums), scaler_, options_.clip_norm, return_grads);
  auto [grads, skip] = scaler_.unscale(std::move(sums));
  optimizer_.update(
      options_.clip_norm > 0 ? optim::clip_by_global_norm(grads, options_.clip_norm).grads : grads,
      skip);
  return {skip, std::move(grads)};
}

StepFunction TrainingStep::evaluate(Precision precision) const {
  return [this, precision](std::span<const Tensor> in) {
    const optim::Shards::Gathered gathered(shards_);
    const NoGrad no_grad;
    const Autocast scope(precision);
    const Objective& objective = options_.objective;
    const Tensor output = model_(in[0]);
    std::vector results{objective.loss(output, in[1])};
    if (objective.guess) results.push_back(objective.guess(output));
    for (const Metric& metric : objective.metrics) results.push_back(metric.mean(output, in[1]));
    return results;
  };
}

void TrainingStep::prepare(int64_t number) {
  const int64_t part = windows_.part(number);
  prepare_update(number, part == 0);
  window_.at(part, windows_.parts(number));
}

optim::RankShare TrainingStep::prepare_window(int64_t number) {
  prepare_update(number, true);
  if (statistics_) statistics_->begin(windows_.parts(number));
  if (window_.shared()) return window_.shared()->begin(windows_.parts(number));
  return {.first = 0, .batches = 1, .runs = 1};
}

void TrainingStep::prepare_update(int64_t number, bool begins) {
  const int64_t ended = windows_.before(number);
  const bool first = !left_out_;
  if (first) left_out_ = skipped(number);
  if (async_rate_) async_rate_->next();
  if (begins && pruner_)  // beside loss scaling only the optimizer knows how many were made
    pruner_->prune(scaler_.current().defined() ? optimizer_.steps_made() : ended - *left_out_);
  if (options_.schedule && !async_rate_ && (begins || first)) {
    rate_ = options_.schedule(ended - *left_out_);
    optimizer_.set_learning_rate(rate_);
  } else if (first) {
    rate_ = optimizer_.learning_rate().item();
  }
}

void TrainingStep::check_programs(const std::vector<Program>& programs) const {
  const auto written = [](const Program& program, const auto& visit) {
    for (const Instruction& instruction : program.instructions)
      for (size_t k = 0; k < instruction.in.size(); ++k)
        if (has(instruction.op->mutates, static_cast<int>(k)))
          visit(instruction, program.buffers[instruction.in[k].buffer].storage.get());
  };
  const std::vector<NamedTensor> buffers = model_.named_buffers();
  for (const Program& program : programs) {
    bool update = false;
    written(program, [&](const Instruction& instruction, const Storage* storage) {
      update = update || optimizer_.steps().value().storage.get() == storage;
      for (const auto& [name, buffer] : buffers)
        check<StateError>(
            buffer.value().storage.get() != storage || (statistics_ && statistics_->moves(storage)),
            "train: the model writes ", name, " in every batch (", instruction.op->name,
            "), and each rank would write it in its own way. Train it without "
            "ranks, or keep it by nn::BatchNorm2d.");
    });
    for (const Instruction& instruction : program.instructions)
      check<StateError>(
          update || !instruction.op->collective || gathers_parameters(program, instruction),
          "train: the model communicates with other ranks (", instruction.op->name,
          "), which train and evaluate other numbers of batches. Leave it out.");
  }
}

AsyncReadBack TrainingStep::learning_rate() const {
  return async_rate_ ? AsyncReadBack(optimizer_.learning_rate()) : AsyncReadBack(rate_);
}

void TrainingStep::add_to(State& state, std::function<bool()> in_window) const {
  const std::vector<NamedTensor> names = model_.named_parameters();
  if (shards_ && shards_->stage() == 3) {
    std::vector<std::pair<std::string, optim::SharedTensor>> shared;
    for (const optim::SharedTensor& parameter : shards_->parameters())
      shared.emplace_back(names[shared.size()].name, parameter);
    state.tensors("", shared);
  } else {
    state.tensors("", names);
  }
  state.tensors("", model_.named_buffers());
  if (shards_ && shards_->stage() > 0)
    state.tensors("optimizer.", optimizer_.counters()).tensors("optimizer.", shards_->state());
  else
    state.tensors("optimizer.", optimizer_.state());
  state.tensors("loss_scaler.", scaler_.state())
      .tensors("window.", window_.state(), std::move(in_window));
  if (pruner_) state.tensors("pruner.", pruner_->state());
}

}  // namespace plimsoll::train
