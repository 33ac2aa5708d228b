// Planners that begin with what another found.
#include <gtest/gtest.h>

#include "examples/measure/fitting.h"
#include "memory/step/passes.h"
#include "tests/support/training.h"

namespace plimsoll::examples {
namespace {

constexpr BudgetOptions kPlanning = Training::kPlanning;

// Plans for one batch are where the search for another begins.
TEST(MemoryBudget, APlannerLikeAnotherFindsWhatThatFound) {
  const TrainingStep step(FitModel{.name = "resnet8"}, Precision::f32);
  const auto program_for = [&](int64_t batch) {
    return capture([&](auto in) { return step(in); }, step.inputs(batch));
  };
  const BudgetPlanner first = budget_planner(program_for(8), kPlanning);
  const int64_t middle = (first.smallest() + first.largest()) / 2;
  first.plan_within(middle);
  const BudgetPlanner like =
      budget_planner(program_for(24), {CostModel::model, kPlanning.search_seconds / 5}, &first);
  const BudgetPlanner own = budget_planner(program_for(24), kPlanning);
  EXPECT_LT(static_cast<double>(like.smallest()), 1.02 * static_cast<double>(own.smallest()));
  const int64_t budget = (own.smallest() + own.largest()) / 2;
  EXPECT_LE(like.plan_within(budget).plan.total_bytes(), budget);
}

}  // namespace
}  // namespace plimsoll::examples
