// Chapter 7: plans of a net of twelve layers under several budgets: what they take, what they run
// again, what that costs, and what any plan must cost.
#include <algorithm>
#include <cstdio>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/step/passes.h"

namespace plimsoll::tour {
namespace {

constexpr int kLayers = 12;
constexpr int64_t kBatch = 4096;

double seconds_of(const Program& program) {
  double seconds = 0;
  for (const Instruction& instruction : program.instructions)
    seconds += modelled_seconds(instruction);
  return seconds;
}

PlannedProgram planned(bool checkpoint) {
  Training training({.layers = kLayers, .checkpoint = checkpoint});
  return plan_step(capture_live(training.function(), inputs_of(kBatch)), {});
}

void print_row(const char* name, const PlannedProgram& step, double step_seconds) {
  const Recompute& r = step.plan.recompute;
  std::printf("%-18s %9.1f %10d %9.1f %% %9.1f %%\n", name, kib(step.plan.total_bytes()),
              r.repetitions, 100 * r.repeated_seconds / step_seconds,
              100 * r.least_repeated_seconds / step_seconds);
}

}  // namespace

void print_recompute() {
  Training training({.layers = kLayers});
  const BudgetPlanner planner = budget_planner(capture_live(training.function(), inputs_of(kBatch)),
                                               {.costs = CostModel::model, .search_seconds = 0.5});
  const PlannedProgram all = planned(false);
  const double seconds = seconds_of(all.program);
  std::printf("twelve layers, batch 4096         run again\n");
  std::printf("budget            takes KiB  instructions    added    at least\n");
  print_row("none", all, seconds);
  for (const int percent : {90, 80, 70, 60, 50}) {
    const int64_t budget = planner.largest() * percent / 100;
    print_row(cat(percent, " %").c_str(), planner.plan_within(budget), seconds);
  }
  print_row("smallest", planner.plan_within(planner.smallest()), seconds);

  const PlannedProgram hand = planned(true);
  const double added = seconds_of(hand.program) - seconds;
  std::printf("\ncheckpoints by hand %8.1f KiB, added %4.1f %%\n", kib(hand.plan.total_bytes()),
              100 * added / seconds);
  const int64_t same =
      std::max(hand.plan.total_bytes() + hand.plan.result_bytes, planner.smallest());
  const PlannedProgram ours = planner.plan_within(same);
  std::printf("a plan in as much   %8.1f KiB, added %4.1f %%\n", kib(ours.plan.total_bytes()),
              100 * ours.plan.recompute.repeated_seconds / seconds);
  const int64_t smallest = planner.smallest();
  try {
    planner.plan_within(smallest - kGranule);
  } catch (const BudgetError& e) {
    std::printf("\n%s\n", wrapped(e.what()).c_str());
  }
}

}  // namespace plimsoll::tour
