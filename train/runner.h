// Runner: one training step, and where there is one the evaluation that goes with it, called op by
// op or captured once and replayed. The functions are the same.
//
//   Runner step(train_step, /*captured=*/true);
//   double loss = step.train(number, {x, y, key}).loss.value();
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "core/engine/async_read_back.h"
#include "memory/step/passes.h"
#include "memory/step/step.h"
#include "optim/accumulation.h"

namespace plimsoll::train {

// All that a training program runs.
struct Workload {
  Metas inputs;                   // of the training step
  std::vector<int64_t> windows;   // batches whose gradients make an update, of each kind of window
  std::vector<Metas> evaluation;  // inputs, of each size of batch
  int64_t data_bytes = 0;         // of the data set: plain memory, in no plan
};

// Bytes; 0 in eager mode, which has no plan.
struct Planned {
  int64_t training = 0, evaluation = 0;
};

// The loss of a batch, which may be late.
class Loss {
 public:
  // Of batch `number` of the training, from 0.
  Loss(int64_t number, const Tensor& loss) : number_(number), delayed_(loss) {}
  Loss(int64_t number, double loss) : number_(number), delayed_(loss) {}
  bool known() const { return delayed_.known(); }  // value() does not wait
  bool finite() const { return std::isfinite(delayed_.value()); }
  double unchecked() const { return delayed_.value(); }
  // NumericError, with the batch as messages count it, when it is NaN or infinite; and what kernels
  // met meanwhile, such as IndexError.
  double value() const {
    const double value = delayed_.value();
    check<NumericError>(
        finite(), "train: the loss is not finite: ", value, " in batch ", number_ + 1,
        ". Lower the learning rate, or use find_nan to see which op it comes from.");
    return value;
  }

 private:
  int64_t number_;
  AsyncReadBack delayed_;
};

class Runner {
 public:
  // `step` returns the loss first, and depends on the phase of `window`, where there is one.
  // `with_gradients` is the same step with more results: where it makes an update, the gradients of
  // that. These and `evaluation` are programs of one captured step: under a budget all stay within
  // it.
  Runner(StepFunction step, bool captured, StepOptions options = {},
         const optim::Accumulation* window = nullptr, StepFunction evaluation = {},
         StepFunction with_gradients = {})
      : functions_{std::move(step), std::move(with_gradients), std::move(evaluation)},
        options_(std::move(options)) {
    if (window || functions_[kWithGradients] || functions_[kEvaluation])
      options_.variant = [this, window] {
        if (kind_ == kEvaluation) return int64_t{-1};
        return (window ? window->phase() : 0) + (kind_ == kWithGradients ? kPhases : 0);
      };
    if (captured) make_step();
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    return step_ ? step_->run(inputs) : function()(inputs);
  }
  std::vector<Tensor> evaluate(std::initializer_list<Tensor> inputs) {
    const Scope scope(*this, kEvaluation);
    return run(std::span(inputs.begin(), inputs.size()));
  }

  // Gives back the memory of a captured step until the next run.
  void release_arena() {
    if (step_) step_->release_arena();
  }

  struct Trained {
    Loss loss;
    std::vector<Tensor> gradients;  // where they were asked for
  };
  // Runs the step for batch `number` of the training, from 0. NumericError, with the batch as
  // messages count it, under apply_mode().check_finite at the first op that writes NaN or infinity,
  // unless a FirstNonfinite takes it.
  Trained train(int64_t number, std::initializer_list<Tensor> inputs, bool with_gradients = false) {
    const Scope scope(*this, with_gradients ? kWithGradients : kTraining);
    std::vector<Tensor> results;
    try {
      results = run(std::span(inputs.begin(), inputs.size()));
    } catch (const NumericError& e) {
      fail<NumericError>("train: in batch ", number + 1, ": ", e.what());
    }
    const Loss loss(number, results[0]);
    results.erase(results.begin());
    return {loss, std::move(results)};
  }

  // Plans all of it and prints the plan for the last batch of a window. Training takes what all
  // phases take together: one arena, as large as the largest.
  Planned plan_all(const Workload& work, optim::Accumulation& window) {
    if (!step_) return {};
    int64_t outside = 0, arena = 0, pinned = 0, evaluation = 0;
    // Twice: under a budget those are planned anew that did not know yet what others hold.
    for (const bool known : {false, true})
      for_each_program(work, window, [&](const Metas& inputs) {
        const Plan& plan = step_->plan(inputs);
        if (!known) return;
        if (kind_ == kEvaluation) {
          evaluation = std::max(evaluation, plan.total_bytes() - plan.pinned_bytes);
        } else {
          outside = std::max(outside, plan.total_bytes() - plan.arena_bytes);
          arena = std::max(arena, plan.arena_bytes);
          pinned = std::max(pinned, plan.pinned_bytes);
        }
      });
    step_->plan(work.inputs).print();
    const int64_t training = outside + arena;
    if (functions_[kWithGradients])
      std::printf("  up to %s in steps that return their gradients\n",
                  bytes_text(training).c_str());
    return {training, pinned + evaluation};
  }
  // Every program of it, as the functions wrote them.
  std::vector<Program> capture_all(const Workload& work, optim::Accumulation& window) {
    std::vector<Program> programs;
    for_each_program(work, window, [&](const Metas& inputs) {
      programs.push_back(capture_live(function(), inputs));
    });
    return programs;
  }
  // As they run.
  std::vector<Program> planned_all(const Workload& work, optim::Accumulation& window) {
    std::vector<Program> programs;
    for_each_program(work, window,
                     [&](const Metas& inputs) { programs.push_back(step_->program(inputs)); });
    return programs;
  }
  // Nothing in eager mode.
  const Plan* plan(const Metas& metas) { return step_ ? &step_->plan(metas) : nullptr; }
  const Program* program(const Metas& metas) { return step_ ? &step_->program(metas) : nullptr; }

 private:
  enum Kind : size_t { kTraining, kWithGradients, kEvaluation };
  static constexpr int64_t kPhases = 4;  // of a window

  struct Scope {
    Scope(Runner& runner, Kind kind) : runner(runner) { runner.kind_ = kind; }
    ~Scope() { runner.kind_ = kTraining; }
    Runner& runner;
  };
  const StepFunction& function() const { return functions_[kind_]; }
  void make_step() {
    step_.emplace([this](std::span<const Tensor> in) { return function()(in); }, options_);
  }

  // visit(inputs) in each phase of training; the same with gradients, where there may be some; and
  // of each evaluation. The last of a window comes first: it holds what the others hold, which are
  // so planned once. `window` is left there.
  template <class Visit>
  void for_each_program(const Workload& work, optim::Accumulation& window, const Visit& visit) {
    std::vector<int64_t> seen;
    for (const int64_t size : work.windows) {
      for (const int64_t part : {size - 1, int64_t{0}, size / 2}) {  // last, first, middle
        window.at(part, size);
        if (std::ranges::find(seen, window.phase()) != seen.end()) continue;
        seen.push_back(window.phase());
        visit(work.inputs);
        if (!functions_[kWithGradients] || part + 1 != size) continue;
        const Scope scope(*this, kWithGradients);
        visit(work.inputs);
      }
      window.at(size - 1, size);
    }
    const Scope scope(*this, kEvaluation);
    for (const Metas& inputs : work.evaluation) visit(inputs);
  }

  std::array<StepFunction, 3> functions_;  // of each kind
  StepOptions options_;
  std::optional<Step> step_;
  Kind kind_ = kTraining;
};

}  // namespace plimsoll::train
