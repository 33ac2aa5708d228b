// The command line of training under a budget, and what is said when the budget is too small.
//
//   add_budget_options(app, options);
//   Runner step(train_step(precision), options.captured(), step_options(options), &window);
//   print_plan(step, metas, options, train_step, window, {accumulate});
#pragma once

#include "examples/common/options.h"
#include "examples/common/runner.h"

namespace plimsoll::examples {

// --budget, --plan-only, --plan-seconds, --cost.
void add_budget_options(CLI::App& app, Options& options);

// UsageError for a budget without --mode captured. `auto` is what the device has free now.
StepOptions step_options(const Options& options);

// The training step in a precision. Its first two inputs have the batch as their first axis.
using TrainStep = std::function<StepFunction(Precision)>;

// Prints the plan and returns its bytes. A budget that is too small is a UsageError naming the
// smallest that would do, and which smaller batch or shorter type fits into the one that was asked.
// `window` and `sizes`: as for Runner::plan_windows(). 0 in eager mode.
int64_t print_plan(Runner& step, const Metas& inputs, const Options& options,
                   const TrainStep& train_step, optim::Accumulation& window,
                   std::initializer_list<int64_t> sizes);

}  // namespace plimsoll::examples
