// A training within a budget of bytes, and what is said when the budget is too small.
//
//   make_exact(pool);                                       // before the first tensor
//   Budget budget(options, pool, loader.host_bytes());
//   Runner step(train(precision), options.captured, budget.step_options(), &window,
//               evaluate(precision));
//   const Planned planned = budget.plan(step, work, parameters, window, {train, evaluate});
#pragma once

#include "memory/pool/pooled_allocator.h"
#include "train/options.h"
#include "train/runner.h"

namespace plimsoll::train {

// What a training program runs, in a precision (runner.h).
using Typed = std::function<StepFunction(Precision)>;
struct Functions {
  Typed train, evaluate;
  Typed with_gradients = [](Precision) { return StepFunction(); };
};

// From here on every block of the pool is a segment of its own, as under a limit. What was cut from
// larger segments before can be too small for what comes later, and no budget can count on it.
void make_exact(PooledAllocator& pool);

// The smallest for programs that run one after another, while all that is outside of any of them
// stays: parameters, and the results of the run before, which may be of any.
int64_t smallest_budget(const std::vector<Program>& programs, const BudgetOptions& planning);

class Budget {
 public:
  // `host_bytes`: what batches take in host memory before they are tensors. On the CPU they share
  // the budget with the step. `processes`: that share what is free on this machine. UsageError for
  // a budget or plan_only without a captured step, ValueError for a budget below 1. With a budget
  // the pool is exact from here on.
  Budget(const TrainOptions& options, PooledAllocator& pool, int64_t host_bytes,
         int64_t processes = 1);
  ~Budget();  // with a budget, the pool has the limit again that it had before
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  StepOptions step_options() const;

  // Prints the plan and returns its bytes; from here on the budget, less batches in preparation, is
  // the pool's hard limit, so that what no plan foresaw is an OutOfMemory and not a byte more. One
  // that is too small is a UsageError naming the smallest that would do, and what a short search
  // fits into it: a smaller batch, one that is accumulated, a shorter type; the window is then
  // another one. The first two inputs of all functions have the batch as their first axis.
  Planned plan(Runner& step, const Workload& work, std::span<const Tensor> parameters,
               optim::Accumulation& window, const Functions& functions);

  // Refuses in the same words, soon, a budget that is less than what is there all the time, with
  // any batch: parameters, the optimizer's state, and prepared batches of one example.
  void check_held(Runner& step, const Workload& work, optim::Accumulation& window) const;

 private:
  [[noreturn]] void refuse(const std::vector<Program>& programs, const std::string& advice) const;
  int64_t host_share() const;   // of the budget
  int64_t step_budget() const;  // the rest of it
  int64_t room(const Workload& work, int64_t examples) const;
  std::string advice(const Workload& work, std::span<const Tensor> parameters,
                     optim::Accumulation& window, const Functions& functions) const;

  const TrainOptions& options_;
  PooledAllocator& pool_;
  const int64_t limit_before_;
  const int64_t host_bytes_;
  int64_t bytes_ = StepOptions::kNoBudget;
  int64_t cut_ = 0;  // free bytes between blocks that were cut before the pool was exact
};

}  // namespace plimsoll::train
