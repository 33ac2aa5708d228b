// Runner: one training step, and where there is one the evaluation that goes with it, called op by
// op or captured once and replayed. The functions are the same.
//
//   Runner step(train_step, options.captured());
//   double loss = step.loss(number, {x, y, key});
#pragma once

#include <algorithm>
#include <optional>

#include "memory/dead_code.h"
#include "memory/step.h"
#include "optim/accumulation.h"

namespace plimsoll::examples {

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

class Runner {
 public:
  // `step` returns the loss first, and depends on the phase of `window`, where there is one.
  // `evaluation` is another program of the same captured step: under a budget both stay within it.
  Runner(StepFunction step, bool captured, StepOptions options = {},
         const optim::Accumulation* window = nullptr, StepFunction evaluation = {})
      : step_function_(std::move(step)), evaluation_function_(std::move(evaluation)) {
    if (window || evaluation_function_)
      options.variant = [this, window] {
        return evaluating_ ? kEvaluation : window ? window->phase() : 0;
      };
    if (captured)
      step_.emplace([this](std::span<const Tensor> in) { return function()(in); },
                    std::move(options));
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    return step_ ? step_->run(inputs) : function()(inputs);
  }
  std::vector<Tensor> evaluate(std::initializer_list<Tensor> inputs) {
    const Evaluating scope(*this);
    return run(std::span(inputs.begin(), inputs.size()));
  }

  // Gives back the memory of a captured step until the next run.
  void release_arena() {
    if (step_) step_->release_arena();
  }

  // Runs the step for batch `number` of the training, from 0, and reads its loss. NumericError, with
  // the batch as messages count it, when that is NaN or infinite, and under
  // apply_mode().check_finite at the first op that writes such a value.
  double loss(int64_t number, std::initializer_list<Tensor> inputs) {
    double value = 0;
    try {
      value = run(std::span(inputs.begin(), inputs.size()))[0].item();
    } catch (const NumericError& e) {
      fail<NumericError>("train: in batch ", number + 1, ": ", e.what());
    }
    check<NumericError>(std::isfinite(value), "train: the loss is not finite: ", value,
                        " in batch ", number + 1,
                        ". Lower --lr, or add --find-nan to see which op it comes from.");
    return value;
  }

  // Plans all of it and prints the plan for the last batch of a window. Training takes what all
  // phases take together: one arena, as large as the largest.
  Planned plan_all(const Workload& work, optim::Accumulation& window) {
    if (!step_) return {};
    int64_t outside = 0, arena = 0, pinned = 0, evaluation = 0;
    // Twice: under a budget a program is planned anew when it is known what the others hold.
    for (const bool known : {false, true})
      for_each_program(work, window, [&](const Metas& inputs) {
        const Plan& plan = step_->plan(inputs);
        if (!known) return;
        if (evaluating_) {
          evaluation = std::max(evaluation, plan.total_bytes() - plan.pinned_bytes);
        } else {
          outside = std::max(outside, plan.total_bytes() - plan.arena_bytes);
          arena = std::max(arena, plan.arena_bytes);
          pinned = std::max(pinned, plan.pinned_bytes);
        }
      });
    step_->plan(work.inputs).print();
    return {outside + arena, pinned + evaluation};
  }
  // Every program of it, as the functions wrote them.
  std::vector<Program> capture_all(const Workload& work, optim::Accumulation& window) {
    std::vector<Program> programs;
    for_each_program(work, window, [&](const Metas& inputs) {
      programs.push_back(remove_dead(capture(function(), inputs)));
    });
    return programs;
  }
  // Nothing in eager mode.
  const Plan* plan(const Metas& metas) { return step_ ? &step_->plan(metas) : nullptr; }
  const Program* program(const Metas& metas) { return step_ ? &step_->program(metas) : nullptr; }

 private:
  static constexpr int64_t kEvaluation = -1;  // a variant beside the phases of a window

  struct Evaluating {
    explicit Evaluating(Runner& runner) : runner(runner) { runner.evaluating_ = true; }
    ~Evaluating() { runner.evaluating_ = false; }
    Runner& runner;
  };
  const StepFunction& function() const {
    return evaluating_ ? evaluation_function_ : step_function_;
  }

  // visit(inputs) in each phase of training, the last of a window last, and of each evaluation.
  template <class Visit>
  void for_each_program(const Workload& work, optim::Accumulation& window, const Visit& visit) {
    std::vector<int64_t> seen;
    for (const int64_t size : work.windows)
      for (const int64_t part : {int64_t{0}, size / 2, size - 1}) {  // first, middle, last
        window.at(part, size);
        if (std::ranges::find(seen, window.phase()) != seen.end()) continue;
        seen.push_back(window.phase());
        visit(work.inputs);
      }
    const Evaluating scope(*this);
    for (const Metas& inputs : work.evaluation) visit(inputs);
  }

  StepFunction step_function_, evaluation_function_;
  std::optional<Step> step_;
  bool evaluating_ = false;
};

}  // namespace plimsoll::examples
