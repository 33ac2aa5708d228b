// Budgets on the command line.
#include <gtest/gtest.h>

#include "tests/examples_testing.h"

namespace plimsoll::examples {
namespace {

// The number behind `label` in a program's output; -1 when it is not there.
int64_t number_after(const std::string& output, const std::string& label) {
  const size_t at = output.find(label);
  return at == std::string::npos ? -1 : std::stoll(output.substr(at + label.size()));
}

TEST(ExamplesBudget, ThePlanStaysBelowItAndTheSmallestIsExact) {
  const std::string train =
      "train_transformer --layers 2 --width 32 --cost model --plan-only "
      "--plan-seconds 0.3";
  const Outcome free = run(train);
  ASSERT_EQ(free.code, 0) << free.output;
  const int64_t all = number_after(free.output, "; total ");
  const Outcome refused = run(train + " --budget 1MiB");
  EXPECT_EQ(refused.code, 2) << refused.output;
  const int64_t least = number_after(refused.output, "the smallest plan found takes ");
  EXPECT_NE(refused.output.find("It would do with --batch "), std::string::npos) << refused.output;
  ASSERT_GT(least, 0) << refused.output;
  ASSERT_LT(least, all);
  const Outcome tight = run(train + " --budget " + std::to_string(least));
  EXPECT_EQ(tight.code, 0) << tight.output;
  EXPECT_EQ(number_after(tight.output, "; total "), least) << tight.output;
  EXPECT_EQ(tight.output.find("step 1"), std::string::npos) << "it was to stop at the plan";
  EXPECT_EQ(run(train + " --budget " + std::to_string(least - 64)).code, 2);
  EXPECT_EQ(run(train + " --budget auto").code, 0);
}

TEST(ExamplesBudget, TrainingUnderItGivesTheSameLoss) {
  const std::string train =
      "train_cnn --model resnet8 --batch 32 --cost model --plan-seconds 0.3 "
      "--epochs 1";
  const auto loss = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    const size_t at = outcome.output.find("mean loss ");
    return at == std::string::npos ? "" : outcome.output.substr(at, 24);
  };
  const Outcome free = run(train), tight = run(train + " --budget 12MB");
  EXPECT_FALSE(loss(free).empty());
  EXPECT_EQ(loss(free), loss(tight));
  EXPECT_NE(tight.output.find("instructions run again"), std::string::npos) << tight.output;
  EXPECT_LE(number_after(tight.output, "; total "), 12'000'000);
}

}  // namespace
}  // namespace plimsoll::examples
