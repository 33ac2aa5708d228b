// The passes of a captured step (passes.cpp lists them in their order). Each is a pure function
// from Program to Program or to a Plan; here alone they are put together.
//
//   const Program captured = capture_live(function, inputs);    // in the order the function has
//   const PlannedProgram runs = plan_step(captured, {.bytes = int64_t{300} << 20});
//   Replay(runs.program, runs.plan);
#pragma once

#include "core/engine/trace.h"
#include "memory/recompute/budget.h"

namespace plimsoll {

// What is captured of the function, after the passes that cost nothing and need no other order:
// those of memory/passes that leave instructions out or take one for another. Errors: those of
// capture().
Program capture_live(const StepFunction& function, const Metas& inputs);

struct StepBudget {
  int64_t bytes = 0;      // 0: no budget
  int64_t elsewhere = 0;  // of them held by others than this program
  BudgetOptions planning{};
};

// For the program as it was captured and with its updates early: an early update saves a gradient,
// but what is made of the old parameter cannot be made again after it. Where parameters are
// gathered both gather each once, where it is needed first, and one more has them gathered again.
// Of ranks also with exchanges beside the computation: what is in flight takes memory, so a small
// budget has none of it. Those are planned by the costs of the model, whatever the options say: all
// ranks must plan alike.
BudgetPlanner budget_planner(Program captured, BudgetOptions options,
                             const BudgetPlanner* like = nullptr);

// What a planner makes of a budget, with exchanges beside the computation where there is room for
// what is in flight, or where to recompute a little more makes room. BudgetError as plan_step().
PlannedProgram plan_within(const BudgetPlanner& planner, int64_t bytes, int64_t elsewhere = 0);

// The program as it runs, with its plan. What costs no time is done always, recompute where a
// budget asks for it. BudgetError naming the smallest budget that would do.
PlannedProgram plan_step(const Program& captured, const StepBudget& budget);

}  // namespace plimsoll
