// Step: a function of tensors that is captured once for each kind of input and then replayed: every
// value at a planned address in one arena, no allocation and no tape between its kernels.
//
//   Step step([&](const Tensor& x, const Tensor& y) {
//     Tensor loss = cross_entropy(model(x), y);
//     optimizer.update(gradients(loss, model.parameters()));
//     return loss;
//   });
//   step.plan(x, y).print();           // exact bytes, before anything is allocated
//   for (...) loss = step(x, y);       // the same bits as calling the function itself
//
// With Step step(function, {.budget = int64_t{300} << 20}) it never holds more than that, and makes
// again what it cannot keep.
//
// Host values (numbers, branches) are frozen by the capture: what changes from step to step must be
// a tensor, or decide between whole programs: StepOptions.variant. Unless NDEBUG is defined, runs
// 2, 4, 8, 16, ... of a plan capture the function again and throw StateError where it has changed.
// Results are fresh tensors, off the tape.
// Not thread-safe: one thread at a time.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "memory/layout/plan.h"
#include "memory/recompute/budget_options.h"
#include "memory/step/shared_bytes.h"
#include "memory/step/step_function.h"

namespace plimsoll {

struct StepOptions {
  static constexpr int64_t kNoBudget = 0;
  // Bytes: of parameters, optimizer state, inputs, arena, the results of a run and those of the run
  // before, which the caller may still hold, together and over all variants; never exceeded by the
  // step. Of several variants or kinds of input each counts what those before it keep alive, and
  // the largest results of all, so call plan() twice for all of them before the first run: plans
  // that do not fit beside later ones are made again. BudgetError by plan() and run() when no plan
  // is that small, before an arena is taken.
  int64_t budget = kNoBudget;
  BudgetOptions planning{};  // how to search for the plan
  bool graph = true;         // on a GPU: run as one graph, not kernel by kernel; the same bits
  // What the function depends on besides its inputs: asked before each run, one program for each
  // answer. Empty: nothing.
  std::function<int64_t()> variant{};
};

class Step {
 public:
  static constexpr size_t kPlans = 8;  // plans kept, those used last

  // ValueError for a function that is empty or a budget below 0.
  explicit Step(StepFunction function, StepOptions options = {});
  // Any callable that takes up to 8 const Tensor& and returns a Tensor or a std::vector<Tensor>.
  template <StepCallable F>
  explicit Step(F f, StepOptions options = {})
      : Step(step_function(std::move(f)), std::move(options)) {}
  ~Step();
  Step(Step&&) noexcept;
  Step& operator=(Step&&) noexcept;

  // Runs the step. Errors before anything is changed: StateError for an undefined, symbolic or
  // non-contiguous input, for one that shares its memory with what the step writes in place, and
  // inside a checkpoint that recomputes; whatever capturing the function throws; OutOfMemory.
  // Errors of a kernel (a label out of range) end the run where it is, with what earlier
  // instructions wrote in place already written; updates run as soon as their gradient is there
  // (early_update.h). Under apply_mode().check_finite, NumericError, unless a FirstNonfinite takes
  // it, at the first instruction that writes NaN or infinity.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  std::vector<Tensor> run(std::initializer_list<Tensor> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  // The same for a step with one result; StateError when it has another number of them.
  template <std::same_as<Tensor>... Inputs>
  Tensor operator()(const Inputs&... inputs) {
    return run_one(std::array<Tensor, sizeof...(Inputs)>{inputs...});
  }

  // What run() would take for such inputs, in the variant of now. Runs nothing and takes nothing,
  // except that under a budget with CostModel::measured each kind of op is timed on scratch memory
  // (costs.h). The reference holds until kPlans other kinds of input have been seen, or under a
  // budget any other.
  const Plan& plan(const Metas& inputs);
  template <std::same_as<Tensor>... Inputs>
  const Plan& plan(const Inputs&... inputs) {
    return plan(metas_of(std::array<Tensor, sizeof...(Inputs)>{inputs...}));
  }
  // The program that plan() is about, for as long.
  const Program& program(const Metas& inputs);

  // Gives the arena back to its pool; the next run takes one again.
  void release_arena();

 private:
  struct Entry;  // one program with its plan and, once it has run, its replay

  static Metas metas_of(std::span<const Tensor> inputs);
  Entry& entry_for(const Metas& inputs);
  Entry* find(int64_t variant, const Metas& inputs);
  std::unique_ptr<Entry> capture_and_plan(int64_t variant, const Metas& inputs);
  void drop_what_no_longer_fits();
  Tensor run_one(std::span<const Tensor> inputs);
  std::vector<Tensor> run(Entry& entry, std::span<const Tensor> inputs);
  void recapture(const Entry& entry) const;
  bool has_budget() const { return options_.budget != StepOptions::kNoBudget; }
  int64_t room(const Entry& entry) const;
  int64_t arena_bytes(const Entry& entry) const;
  void provide_arena(Entry& entry);

  StepFunction function_;
  StepOptions options_;
  std::vector<std::unique_ptr<Entry>> entries_;  // the one used last is in front
  SharedBytes shared_;                           // under a budget: what all of them keep alive
  // One arena for all plans: exactly as large as the plan that ran last needs, or the largest among
  // its variants, as far as the budget leaves room beside what that plan counts.
  std::shared_ptr<Storage> arena_;
  std::shared_ptr<Allocator> arena_owner_;
};

}  // namespace plimsoll
