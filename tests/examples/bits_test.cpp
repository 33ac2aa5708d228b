// Ten steps of training leave the same bits behind, whatever is made again or run together: eager
// or captured, checkpointed or planned under budgets, in each precision, running statistics
// included.
#include <gtest/gtest.h>

#include "tests/support/training.h"

namespace plimsoll::examples {
namespace {

struct Left {
  std::vector<double> losses;
  std::vector<std::vector<double>> bits, statistics;
  bool operator==(const Left&) const = default;
};

Left after_ten_steps(Training& training) {
  Left left;
  for (int i = 0; i < 10; ++i) left.losses.push_back(training.step());
  left.bits = training.bits();
  left.statistics = training.running_statistics();
  return left;
}
Left after_ten_steps(const How& how) {
  Training training(how);
  return after_ten_steps(training);
}

class ExamplesBits : public testing::TestWithParam<std::tuple<std::string, Precision>> {};

TEST_P(ExamplesBits, DoNotDependOnWhatIsMadeAgain) {
  How how{.model = std::get<0>(GetParam()), .precision = std::get<1>(GetParam())};
  how.scaled = how.precision == Precision::f16;
  Training plain(how);
  const Left expected = after_ten_steps(plain);
  EXPECT_EQ(expected.statistics.empty(), how.model == "gpt");
  EXPECT_GT(plain.updates(), 3);
  EXPECT_EQ(plain.updates() < 10, how.scaled);  // the scale came down first
  const auto expect = [&](const How& other) {
    EXPECT_TRUE(after_ten_steps(other) == expected) << name_of(other);
  };
  How checkpointed = how, captured = how;
  checkpointed.checkpoint = captured.captured = true;
  expect(checkpointed);
  expect(captured);
  const BudgetPlanner planner = plain.planner();
  const int64_t least = planner.smallest(), most = planner.largest();
  for (const int64_t budget : {most, (least + most) / 2, least}) {
    captured.budget = budget;
    Training tight(captured);
    EXPECT_LE(tight.planned_bytes(), budget);
    EXPECT_EQ(tight.plan().recompute.repetitions > 0, budget < most) << name_of(captured);
    EXPECT_TRUE(after_ten_steps(tight) == expected) << name_of(captured);
  }
  checkpointed.captured = true;
  expect(checkpointed);
}

INSTANTIATE_TEST_SUITE_P(, ExamplesBits,
                         testing::Combine(testing::Values("resnet8", "gpt"),
                                          testing::Values(Precision::f32, Precision::bf16,
                                                          Precision::f16)));

}  // namespace
}  // namespace plimsoll::examples
