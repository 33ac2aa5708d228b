#include "memory/step/passes.h"

#include <algorithm>

#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/passes/gathers.h"
#include "memory/passes/talk_early.h"

namespace plimsoll {
namespace {

// Parameters of which ranks have parts are gathered a few at a time. Gradients are freed as soon as
// their parameter is updated, or sent as soon as they are there. Offsets are placed for that order.
PlannedProgram without_budget(const Program& captured) {
  Program program = talk_early(update_early(gather_again(captured)));
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

BudgetPlanner budget_planner(Program captured, BudgetOptions options) {
  // Clocks differ, and ranks must exchange in one order: they plan alike.
  if (exchanges(captured)) options.costs = CostModel::model;
  Program again = update_early(gather_again(captured));
  captured = gather_late(std::move(captured));
  Program early = update_early(captured);
  std::vector<Program> orders{talk_early(early)};
  for (Program* other : {&early, &captured, &again})
    if (std::ranges::none_of(orders, [&](const Program& known) {
          return known.instructions == other->instructions;
        }))
      orders.push_back(std::move(*other));
  return {std::move(orders), options};
}

PlannedProgram plan_step(const Program& captured, const StepBudget& budget) {
  return budget.bytes > 0 ? within_budget(captured, budget) : without_budget(captured);
}

}  // namespace plimsoll
