// Planners that begin with what another found.
#include <gtest/gtest.h>

#include "examples/measure/fitting.h"
#include "memory/step/passes.h"
#include "tests/support/training.h"

namespace plimsoll::examples {
namespace {

constexpr BudgetOptions kPlanning = Training::kPlanning;

// Plans for one batch are where the search for another begins: one too short to find much alone.
TEST(MemoryBudget, APlannerLikeAnotherFindsWhatThatFound) {
  const ModelStep step(FitModel{.name = "resnet8"}, Precision::f32);
  const auto program_for = [&](int64_t batch) {
    return capture([&](auto in) { return step(in); }, step.inputs(batch));
  };
  const BudgetPlanner first = budget_planner(program_for(16), kPlanning);
  const int64_t middle = (first.smallest() + first.largest()) / 2;
  first.plan_within(middle);
  constexpr BudgetOptions kShort{CostModel::model, 1e-5};
  const BudgetPlanner like = budget_planner(program_for(48), kShort, &first);
  const BudgetPlanner alone = budget_planner(program_for(48), kShort);
  const BudgetPlanner own = budget_planner(program_for(48), kPlanning);
  const auto in_parts_of_own = [&](const BudgetPlanner& planner) {
    return static_cast<double>(planner.smallest()) / static_cast<double>(own.smallest());
  };
  EXPECT_LT(in_parts_of_own(like), 1.2);
  EXPECT_GT(in_parts_of_own(alone), 1.5);
  const int64_t budget = (own.smallest() + own.largest()) / 2;
  EXPECT_LE(like.plan_within(budget).plan.total_bytes(), budget);
}

}  // namespace
}  // namespace plimsoll::examples
