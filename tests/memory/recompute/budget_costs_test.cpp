// What a budget that costs are measured for does not depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/training.h"

namespace plimsoll::examples {
namespace {

Program program_of(const std::string& model) {
  return Training({.model = model, .captured = true}).program();
}

// The smallest is named by a plan that no measuring changes: what was named once works on any day.
// Costs here are off by factors up to 100, as those of a machine that does other work are.
TEST(MemoryBudgetCosts, WhatIsTheSmallestDoesNotDependOnCosts) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> factor(-2.3, 2.3);
  const BudgetPlanner::Costs noisy = [&](const Program& program) {
    std::vector<Cost> costs = instruction_costs(program, CostModel::model);
    for (Cost& cost : costs) {
      cost.near *= std::exp(factor(random));
      cost.far = cost.near * std::exp(std::abs(factor(random)));
    }
    return costs;
  };
  for (const char* name : {"lenet", "resnet8", "gpt"}) {
    SCOPED_TRACE(name);
    const Program program = program_of(name);
    const int64_t least = BudgetPlanner({program}, Training::kPlanning).smallest();
    for (int table = 0; table < 6; ++table) {
      const BudgetPlanner planner({program}, Training::kPlanning, noisy);
      const Plan plan = planner.plan_within(least).plan;
      EXPECT_LE(plan.total_bytes() + plan.result_bytes, least);
      EXPECT_EQ(planner.smallest(), least);
      EXPECT_THROW(planner.plan_within(least - 1), BudgetError);
    }
  }
}

// Nor is anything measured where nothing has to be made again.
TEST(MemoryBudgetCosts, WhatChangesNothingIsNotMeasured) {
  const BudgetPlanner planner({program_of("gpt")}, Training::kPlanning,
                              [](const Program&) { return ADD_FAILURE(), std::vector<Cost>(); });
  EXPECT_EQ(planner.plan_within(planner.largest()).plan.recompute.repetitions, 0);
  EXPECT_THROW(planner.plan_within(planner.smallest() - 1), BudgetError);
}

}  // namespace
}  // namespace plimsoll::examples
