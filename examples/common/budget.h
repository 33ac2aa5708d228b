// The command line of training under a budget, and what is said when the budget is too small.
//
//   add_budget_options(app, options);
//   Budget budget(options, *default_pool(device));            // before the first tensor
//   Runner step(train(precision), options.captured(), budget.step_options(loader.host_bytes()),
//               &window, evaluate(precision));
//   const Planned planned = budget.plan(step, work, parameters, window, {train, evaluate});
#pragma once

#include "examples/common/options.h"
#include "examples/common/runner.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::examples {

// --budget, --plan-only, --plan-seconds, --cost.
void add_budget_options(CommandLine& app, Options& options);

// What a training program runs, in a precision (runner.h).
using Typed = std::function<StepFunction(Precision)>;
struct Functions {
  Typed train, evaluate;
  Typed with_gradients = [](Precision) { return StepFunction(); };
};

class Budget {
 public:
  // UsageError for --budget or --plan-only without --mode captured. `auto` is what the
  // device has free now. With a budget the pool is exact from here on.
  Budget(const Options& options, PooledAllocator& pool);

  // `host_bytes`: what batches take in host memory before they are tensors. On the CPU they share
  // the budget with the step.
  StepOptions step_options(int64_t host_bytes);

  // Prints the plan and returns its bytes; from here on the budget, less batches in preparation, is
  // the pool's hard limit, so that what no plan foresaw is an OutOfMemory and not a byte more. One
  // that has no room for the next batch is planned without, and says so. One that is too small even
  // for that is a UsageError naming the smallest that would do, and what a short search
  // fits into it: a smaller batch, one that is accumulated, a shorter type; the window is then
  // another one. The first two inputs of all functions have the batch as their first axis.
  Planned plan(Runner& step, const Workload& work, std::span<const Tensor> parameters,
               optim::Accumulation& window, const Functions& functions);

 private:
  int64_t host_share() const;   // of the budget
  int64_t step_budget() const;  // the rest of it
  std::string advice(const Workload& work, std::span<const Tensor> parameters,
                     optim::Accumulation& window, const Functions& functions) const;

  const Options& options_;
  PooledAllocator& pool_;
  int64_t bytes_ = StepOptions::kNoBudget;
  int64_t host_bytes_ = 0;
};

}  // namespace plimsoll::examples
