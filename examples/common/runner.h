// Runner: one training step, called op by op or captured once and replayed. The function is the
// same.
//
//   Runner step(train_step, options.captured());
//   double loss = step.loss({x, y, key});
#pragma once

#include <optional>

#include "memory/step.h"
#include "optim/accumulation.h"

namespace plimsoll::examples {

class Runner {
 public:
  // `step` returns the loss first, and depends on the phase of `window`, where there is one.
  Runner(StepFunction step, bool captured, StepOptions options = {},
         const optim::Accumulation* window = nullptr)
      : function_(std::move(step)) {
    if (window) options.variant = [window] { return window->phase(); };
    if (captured) step_.emplace(function_, std::move(options));
  }

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    return step_ ? step_->run(inputs) : function_(inputs);
  }

  // Gives back the memory of a captured step until the next run: an evaluation needs it.
  void release_arena() {
    if (step_) step_->release_arena();
  }

  // Runs the step and reads its loss. NumericError, with the number of the step, when it is NaN or
  // infinite, and under apply_mode().check_finite at the first op that writes such a value.
  double loss(std::initializer_list<Tensor> inputs) {
    ++steps_;
    double value = 0;
    try {
      value = run(std::span(inputs.begin(), inputs.size()))[0].item();
    } catch (const NumericError& e) {
      fail<NumericError>("train: at step ", steps_, ": ", e.what());
    }
    check<NumericError>(std::isfinite(value), "train: the loss is not finite: ", value, " at step ",
                        steps_, ". Lower --lr, or add --find-nan to see which op it comes from.");
    return value;
  }

  // What the plan for such inputs says; 0 in eager mode, which has no plan.
  int64_t planned_bytes(std::initializer_list<Tensor> inputs) {
    if (!step_) return 0;
    Metas metas;
    for (const Tensor& input : inputs) metas.push_back(input.meta());
    return step_->plan(metas).total_bytes();
  }
  // Prints the plan for the last batch of a window, and returns what all phases of windows of so
  // many batches take together: one arena, as large as the largest. 0 in eager mode: no plan.
  int64_t plan_windows(const Metas& inputs, optim::Accumulation& window,
                       std::initializer_list<int64_t> sizes) {
    if (!step_) return 0;
    int64_t outside = 0, arena = 0;
    // Twice: under a budget a phase is planned anew when it is known what the others hold.
    for (const bool known : {false, true})
      for (const int64_t size : sizes)
        for (const int64_t part : {int64_t{0}, size / 2, size - 1}) {  // first, middle, last
          window.at(part, size);
          const Plan& plan = step_->plan(inputs);
          if (!known) continue;
          outside = std::max(outside, plan.total_bytes() - plan.arena_bytes);
          arena = std::max(arena, plan.arena_bytes);
        }
    step_->plan(inputs).print();
    return outside + arena;
  }
  // Nothing in eager mode.
  const Plan* plan(const Metas& metas) { return step_ ? &step_->plan(metas) : nullptr; }
  const Program* program(const Metas& metas) { return step_ ? &step_->program(metas) : nullptr; }

 private:
  StepFunction function_;
  std::optional<Step> step_;
  int64_t steps_ = 0;
};

}  // namespace plimsoll::examples
