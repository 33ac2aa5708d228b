#include "memory/step/passes.h"

#include <algorithm>

#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/passes/fuse_relu.h"
#include "memory/passes/gathers.h"
#include "memory/passes/overlap_communication.h"
#include "memory/passes/relu_late.h"
#include "memory/passes/widen_late.h"

namespace plimsoll {
namespace {

// Parameters of which ranks have parts are gathered a few at a time. Gradients are freed as soon as
// their parameter is updated, or sent as soon as they are there. Offsets are placed for that order.
PlannedProgram without_budget(const Program& captured) {
  Program program = overlap_communication(update_early(gather_again(captured)));
  Plan plan = make_plan(program);
  return {std::move(program), std::move(plan)};
}

int64_t taken_by(const PlannedProgram& planned) {
  return planned.plan.total_bytes() + planned.plan.result_bytes;
}

// The plan of a budget with exchanges beside the computation of `program`, which is its own.
PlannedProgram exchanging_beside(const PlannedProgram& planned, Program program) {
  PlannedProgram beside{overlap_communication(std::move(program)), {}};
  beside.plan = make_plan(beside.program);
  beside.plan.recompute = planned.plan.recompute;
  return beside;
}

bool writes_parameter(const Program& program, const Instruction& instruction) {
  for (size_t k = 0; k < instruction.in.size(); ++k)
    if (has(instruction.op->mutates, static_cast<int>(k)) &&
        program.buffers[instruction.in[k].buffer].memory_class == MemoryClass::parameter)
      return true;
  return false;
}

// Whether all updates come when nothing else is left to do, as where a norm of all gradients is
// awaited: then to update as it was captured leaves no more that can be made again.
bool updates_last(const Program& program) {
  std::vector<bool> is_read(program.buffers.size());  // by what is no update
  for (const Instruction& instruction : program.instructions)
    if (!instruction.op->mutates)
      for (const Operand& operand : instruction.in) is_read[operand.buffer] = true;
  bool updates = false;
  for (const Instruction& instruction : program.instructions) {
    updates = updates || writes_parameter(program, instruction);
    if (!updates || instruction.op->mutates) continue;
    for (const Operand& operand : instruction.out)
      if (is_read[operand.buffer]) return false;
  }
  return true;
}

}  // namespace

Program capture_live(const StepFunction& function, const Metas& inputs) {
  Program program =
      remove_dead(capture(function, inputs));  // what has no reader fuses with nothing
  program = fuse_relu(std::move(program));
  program = relu_late(std::move(program));  // of those that are not in another kernel by now
  program = widen_late(std::move(program));
  return remove_dead(std::move(program));  // buffers that these have left in no operand
}

BudgetPlanner budget_planner(Program captured, BudgetOptions options, const BudgetPlanner* like) {
  // Clocks differ, and ranks must exchange in one order: they plan alike.
  if (exchanges(captured)) options.costs = CostModel::model;
  Program again = update_early(gather_again(captured));
  captured = gather_late(std::move(captured));
  Program early = update_early(captured);
  std::vector<Program> orders{overlap_communication(early)};
  const bool as_captured = !updates_last(early);
  for (Program* other : {&early, &captured, &again})
    if ((other != &captured || as_captured) &&
        std::ranges::none_of(orders, [&](const Program& known) {
          return known.instructions == other->instructions;
        }))
      orders.push_back(std::move(*other));
  return {std::move(orders), options, {}, like};
}

// What is on its way to other ranks needs room beside the computation. Where a plan leaves none,
// one for less is taken that adds little to the step: to wait for the network costs more.
PlannedProgram plan_within(const BudgetPlanner& planner, int64_t bytes, int64_t elsewhere) {
  constexpr double kMostAdded = 0.05;  // of a step
  const int64_t room = bytes - elsewhere;
  PlannedProgram planned = planner.plan_within(bytes, elsewhere);
  if (!exchanges(planned.program)) return planned;
  planned.plan.recompute.larger_budget = 0;  // says nothing of exchanges
  PlannedProgram early = exchanging_beside(planned, update_early(planned.program));
  if (taken_by(early) <= room) return early;
  const int64_t missing = taken_by(early) - room;
  early = exchanging_beside(planned, planned.program);
  if (taken_by(early) <= room) return early;
  try {
    PlannedProgram smaller = planner.plan_within(bytes - missing, elsewhere);
    Recompute& recompute = smaller.plan.recompute;
    const double more = recompute.added_seconds - planned.plan.recompute.added_seconds;
    if (!exchanges(smaller.program) || more > kMostAdded * recompute.step_seconds) return planned;
    recompute.budget = bytes;
    recompute.larger_budget = 0;
    early = exchanging_beside(smaller, update_early(smaller.program));
  } catch (const BudgetError&) {
    return planned;
  }
  return taken_by(early) <= room ? early : planned;
}

PlannedProgram plan_step(const Program& captured, const StepBudget& budget) {
  if (budget.bytes == 0) return without_budget(captured);
  return plan_within(budget_planner(captured, budget.planning), budget.bytes, budget.elsewhere);
}

}  // namespace plimsoll
