// A small model in training, in every way the engine knows: for tests that compare them.
//
//   Training plain({.model = "gpt"}), tight({.model = "gpt", .captured = true, .budget = 400'000});
//   EXPECT_EQ(tight.step(), plain.step());
//   EXPECT_EQ(tight.bits(), plain.bits());
//
// Equal models train on equal batches. All that a training holds comes from the allocator that is
// current when it is made.
#pragma once

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "core/engine/transfer.h"
#include "examples/models/cnn_models.h"
#include "examples/models/transformer_models.h"
#include "memory/step/passes.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/accumulation.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/loss_scaler.h"
#include "optim/sgd.h"

namespace plimsoll::examples {

struct How {
  std::string model = "lenet";  // resnet8 has batch norm, gpt dropout of 0.1
  Precision precision = Precision::f32;
  bool checkpoint = false, captured = false;
  bool scaled = false;     // the loss, dynamically, from a scale that f16 does not hold
  bool sgd = false;        // instead of Adam
  int64_t accumulate = 1;  // batches per update
  int64_t budget = 0;      // bytes
  int batches = 3;         // different ones, over and over
  double max_norm = 0;     // of the gradients together; 0: any
  Device device = Device::cpu;
  bool graph = true;   // on a GPU
  int64_t layers = 2;  // of gpt
  int64_t images = 4;  // in a batch
};

inline std::string name_of(const How& how) {
  constexpr const char* kPrecisions[] = {"f32", "bf16", "f16"};
  std::string name = cat(how.model, " ", kPrecisions[static_cast<int>(how.precision)],
                         how.captured ? " captured" : " eager");
  if (how.checkpoint) name += " checkpoint";
  if (how.scaled) name += " scaled";
  if (how.sgd) name += " sgd";
  if (how.accumulate > 1) name += cat(" accumulate ", how.accumulate);
  if (how.budget > 0) name += cat(" budget ", how.budget);
  if (how.device == Device::cuda) name += how.graph ? " graph" : " loop";
  return name;
}

class Training {
 public:
  static constexpr BudgetOptions kPlanning{.costs = CostModel::model, .search_seconds = 0.2};

  explicit Training(const How& how) : how_(how) {
    nn::Initializer init{.seed = 3, .placement = {.device = how.device}};
    model_ = how.model == "gpt" ? make_gpt({.vocabulary = 17,
                                            .context = 16,
                                            .layers = how.layers,
                                            .heads = 2,
                                            .width = 32,
                                            .dropout = 0.1},
                                           how.checkpoint, init)
                                : make_cnn(how.model, kImage, how.checkpoint, init);
    parameters_ = model_->parameters();
    if (how.sgd)
      optimizer_ = std::make_unique<optim::SGD>(parameters_, optim::SgdOptions{.momentum = 0.9});
    else
      optimizer_ = std::make_unique<optim::Adam>(parameters_);
    window_.emplace(parameters_, how.accumulate);
    const MemoryScope scope(MemoryClass::input);
    for (int b = 0; b < how.batches; ++b) batches_.push_back(batch(b));
    restart();
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // One batch; the loss.
  double step() {
    const double loss = run()[0].item();
    ++batches_done_;
    return loss;
  }
  // So many batches, whose losses nobody reads.
  void run(int batches) {
    for (int i = 0; i < batches; ++i, ++batches_done_) run();
  }
  // Which batch of its window comes next.
  int64_t part() const { return batches_done_ % how_.accumulate; }
  // Back to the first batch of the window.
  void begin_window_again() { batches_done_ -= part(); }
  void release_arena() { step_->release_arena(); }
  // Forgets arena and plans, as when training begins.
  void restart() {
    step_.reset();
    if (!how_.captured) return;
    step_.emplace(function(), StepOptions{.budget = how_.budget,
                                          .planning = kPlanning,
                                          .graph = how_.graph,
                                          .variant = [this] { return window_->phase(); }});
  }

  // What all programs of a window take together, with one arena. Captured trainings only.
  int64_t planned_bytes() {
    int64_t outside = 0, arena = 0;
    for (const bool known : {false, true})  // under a budget, with all that the others hold
      for (int64_t part = 0; part < how_.accumulate; ++part) {
        window_->at(part, how_.accumulate);
        const Plan& plan = step_->plan(metas());
        if (!known) continue;
        outside = std::max(outside, plan.total_bytes() - plan.arena_bytes);
        arena = std::max(arena, plan.arena_bytes);
      }
    return outside + arena;
  }
  // The plans that there are for the step as it is, without accumulation.
  BudgetPlanner planner() { return budget_planner(capture_live(function(), metas()), kPlanning); }
  const Plan& plan() { return step_->plan(metas()); }
  const Program& program() { return step_->program(metas()); }

  // Every bit that the next step depends on: parameters, moments, loss scale; not running
  // statistics, which are only read in evaluation.
  std::vector<std::vector<double>> bits() const {
    std::vector<std::vector<double>> all;
    for (const Tensor& p : parameters_) all.push_back(p.to_vector<double>());
    for (const auto& [name, tensor] : optimizer_->state())
      all.push_back(tensor.to_vector<double>());
    for (const auto& [name, tensor] : scaler_.state()) all.push_back(tensor.to_vector<double>());
    return all;
  }
  std::vector<std::vector<double>> running_statistics() const {
    std::vector<std::vector<double>> all;
    for (const auto& [name, tensor] : model_->named_buffers())
      all.push_back(tensor.to_vector<double>());
    return all;
  }
  int64_t updates() const { return optimizer_->steps_made(); }

  // The step and what it is captured with.
  StepFunction function() {
    return [this](std::span<const Tensor> in) {
      const Autocast scope(how_.precision);
      const Tensor loss = cross_entropy((*model_)(in[0], nn::training(in[2])), in[1]);
      std::vector<Tensor> sums = gradients(scaler_.scale(loss), parameters_);
      sums = window_->add(std::move(sums), optim::counted(in[1]));
      if (!sums.empty()) {
        auto [grads, skip] = scaler_.unscale(std::move(sums));
        if (how_.max_norm > 0) grads = optim::clip_by_global_norm(grads, how_.max_norm).grads;
        optimizer_->update(grads, skip);
        scaler_.update(skip);
      }
      return std::vector{loss};
    };
  }
  Metas metas() const {
    return {batches_[0][0].meta(), batches_[0][1].meta(), batches_[0][2].meta()};
  }

 private:
  static constexpr ImageSize kImage{16, 16, 3, 10};

  static Tensor modulo(const Shape& shape, int64_t start) {
    std::vector<int64_t> values(static_cast<size_t>(count(shape)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (static_cast<int64_t>(i) * 7 + start) % 10;
    return Tensor::of<int64_t>(values, shape);
  }
  std::vector<Tensor> batch(int number) const {
    const auto seed = static_cast<uint64_t>(number);
    const Tensor key = make_key(7, seed);
    std::vector<Tensor> in = how_.model == "gpt"
                                 ? std::vector{modulo({4, 16}, number), modulo({4, 16}, number + 1)}
                                 : std::vector{uniform({how_.images, 16, 16, 3}, -1, 1, seed),
                                               modulo({how_.images}, number)};
    in.push_back(key);
    for (Tensor& tensor : in) tensor = to_device(tensor, how_.device);
    return in;
  }

  std::vector<Tensor> run() {
    window_->at(part(), how_.accumulate);
    const std::vector<Tensor>& in = batches_[static_cast<size_t>(batches_done_ % how_.batches)];
    return step_ ? step_->run(in) : function()(in);
  }

  How how_;
  std::unique_ptr<Staged> model_;
  std::vector<Tensor> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::LossScaler scaler_ =
      how_.scaled ? optim::LossScaler::dynamic({.initial = 0x1p20, .interval = 4}, how_.device)
                  : optim::LossScaler::none();
  std::optional<optim::Accumulation> window_;
  std::vector<std::vector<Tensor>> batches_;
  int64_t batches_done_ = 0;
  std::optional<Step> step_;
};

}  // namespace plimsoll::examples
