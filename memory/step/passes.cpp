#include "memory/step/passes.h"

#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/passes/gathers.h"

namespace plimsoll {
namespace {

// Parameters of which ranks have parts are gathered a few at a time, and gradients freed as soon as
// their parameter is updated. Offsets are placed for that order.
PlannedProgram without_budget(const Program& captured) {
  Program program = update_early(gather_again(captured));
  Plan plan = make_plan(program);
  return {std::move(program), std::move(plan)};
}

// Some values are made again instead of kept.
PlannedProgram within_budget(const Program& captured, const StepBudget& budget) {
  return budget_planner(captured, budget.planning).plan_within(budget.bytes, budget.elsewhere);
}

}  // namespace

Program capture_live(const StepFunction& function, const Metas& inputs) {
  return remove_dead(capture(function, inputs));
}

BudgetPlanner budget_planner(Program captured, const BudgetOptions& options) {
  Program again = update_early(gather_again(captured));
  captured = gather_late(std::move(captured));
  std::vector<Program> orders{update_early(captured)};
  for (Program* other : {&captured, &again})
    if (other->instructions != orders[0].instructions) orders.push_back(std::move(*other));
  return {std::move(orders), options};
}

PlannedProgram plan_step(const Program& captured, const StepBudget& budget) {
  return budget.bytes > 0 ? within_budget(captured, budget) : without_budget(captured);
}

}  // namespace plimsoll
