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

PlannedProgram exchanging_beside(const PlannedProgram& planned) {
  Program early = talk_early(update_early(planned.program));
  Plan plan = make_plan(early);
  plan.recompute = planned.plan.recompute;
  return {std::move(early), std::move(plan)};
}

}  // namespace

Program capture_live(const StepFunction& function, const Metas& inputs) {
  return remove_dead(capture(function, inputs));
}

BudgetPlanner budget_planner(Program captured, BudgetOptions options, const BudgetPlanner* like) {
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
  return {std::move(orders), options, {}, like};
}

// What is on its way to other ranks needs room beside the computation. Where a plan leaves none, one
// for less is made: to recompute a little more costs less than to wait for the network.
PlannedProgram plan_within(const BudgetPlanner& planner, int64_t bytes, int64_t elsewhere) {
  PlannedProgram planned = planner.plan_within(bytes, elsewhere);
  if (!exchanges(planned.program)) return planned;
  PlannedProgram beside = exchanging_beside(planned);
  const int64_t missing = beside.plan.total_bytes() + beside.plan.result_bytes + elsewhere - bytes;
  if (missing <= 0) return beside;
  try {
    beside = exchanging_beside(planner.plan_within(bytes - missing, elsewhere));
  } catch (const BudgetError&) {
    return planned;
  }
  const bool fits = beside.plan.total_bytes() + beside.plan.result_bytes + elsewhere <= bytes;
  return fits ? beside : planned;
}

PlannedProgram plan_step(const Program& captured, const StepBudget& budget) {
  if (budget.bytes == 0) return without_budget(captured);
  return plan_within(budget_planner(captured, budget.planning), budget.bytes, budget.elsewhere);
}

}  // namespace plimsoll
