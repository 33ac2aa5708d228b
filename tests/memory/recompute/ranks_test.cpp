// A collective never runs again, as other ranks would not know of it; but parameters of which all
// have parts, and plan alike, are gathered again.
#include <gtest/gtest.h>

#include "core/ranks/planned_ranks.h"
#include "memory/step/passes.h"
#include "ops/ops.h"

namespace plimsoll {
namespace {

// Of a value that costs little to make and is needed at the beginning and at the end: how often it
// is made in the smallest plan, and in the largest.
std::pair<int64_t, int64_t> times_made(const char* op, Tensor (*make)(const Tensor&)) {
  PlannedRanks ranks(0, 2);
  const RanksScope scope(&ranks);
  const Program program = capture_live(
      [&](std::span<const Tensor> in) {
        const Tensor y = make(in[0]);
        Tensor z = relu(y);
        for (int i = 0; i < 3; ++i) z = concat(std::array{gelu(z), gelu(z)}, 0);
        return std::vector{sum(z) + sum(y)};
      },
      {Meta{{1000}}});
  const BudgetPlanner planner =
      budget_planner(program, {.costs = CostModel::model, .search_seconds = 0.2});
  const auto count = [&](int64_t budget) {
    int64_t times = 0;
    for (const Instruction& instruction : planner.plan_within(budget).program.instructions)
      times += instruction.op->name == std::string(op) ||
               instruction.op->name == cat("start_", op);  // in halves
    return times;
  };
  return {count(planner.smallest()), count(planner.largest() + (1 << 20))};
}

TEST(RecomputeOnRanks, NeverRepeatsCollectives) {
  const auto gathered = times_made("all_gather", [](const Tensor& x) { return all_gather(x); });
  EXPECT_EQ(gathered, std::pair(int64_t{1}, int64_t{1}));
  const auto parameters = times_made("all_gather", [](const Tensor& x) {
    const MemoryScope scope(MemoryClass::gathered);
    return all_gather(x);
  });
  EXPECT_EQ(parameters, std::pair(int64_t{2}, int64_t{1}));
  const auto doubled = times_made("exp", [](const Tensor& x) { return exp(x); });
  EXPECT_EQ(doubled, std::pair(int64_t{2}, int64_t{1}));  // what is cheap and no collective is
}

}  // namespace
}  // namespace plimsoll
