#include "memory/step/passes.h"

#include "core/cuda/seam/cuda.h"
#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/passes/joining.h"

namespace plimsoll {
namespace {

// Gradients are freed as soon as their parameter is updated. Offsets are placed for that order.
PlannedProgram without_budget(const Program& captured) {
  Program program = update_early(captured);
  Plan plan = make_plan(program);
  return {std::move(program), std::move(plan)};
}

// Some values are made again instead of kept. The planner compares early updates with the order of
// the function: an early update saves a gradient, but what is made of the old parameter cannot be
// made again after it.
PlannedProgram within_budget(const Program& captured, const StepBudget& budget) {
  return BudgetPlanner(captured, budget.planning).plan_within(budget.bytes, budget.elsewhere);
}

// Where a launch costs something, updates of many parameters become one, if that takes no bytes.
PlannedProgram with_joined_updates(PlannedProgram step) {
  if (!is_asynchronous(step.program.device)) return step;
  Program program = update_together(step.program, step.plan.lower_bound);
  Plan plan = make_plan(program);
  if (plan.arena_bytes > step.plan.arena_bytes) return step;
  plan.recompute = step.plan.recompute;
  return {std::move(program), std::move(plan)};
}

}  // namespace

Program capture_live(const StepFunction& function, const Metas& inputs) {
  return remove_dead(capture(function, inputs));
}

PlannedProgram plan_step(const Program& captured, const StepBudget& budget) {
  return with_joined_updates(budget.bytes > 0 ? within_budget(captured, budget)
                                              : without_budget(captured));
}

}  // namespace plimsoll
