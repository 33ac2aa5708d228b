// Several optimizers as one: each has its own parameters, in any order.
#include "optim/parameter_groups.h"

#include <gtest/gtest.h>

#include "ops/ops.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"

namespace plimsoll::optim {
namespace {

TEST(ParameterGroups, GiveEachOptimizerItsOwn) {
  const std::vector<Tensor> all{full({2}, 1), full({3}, 2), full({1}, 3)};
  SGD fast({all[2], all[0]}, {.learning_rate = 1}), slow({all[1]}, {.learning_rate = 0.5});
  ParameterGroups groups({{"fast", fast}, {"slow", slow}}, all);
  groups.update(std::vector{full({2}, 0.25), full({3}, 0.5), full({1}, 1)});
  EXPECT_EQ(all[0].to_vector<float>(), (std::vector<float>{0.75, 0.75}));
  EXPECT_EQ(all[1].to_vector<float>(), (std::vector<float>{1.75, 1.75, 1.75}));
  EXPECT_EQ(all[2].to_vector<float>(), (std::vector<float>{2}));
  EXPECT_EQ(groups.steps_made(), 1);
  EXPECT_EQ(groups.state().front().first, "fast." + fast.state().front().first);
  groups.set_learning_rate(0.125);
  EXPECT_EQ(slow.learning_rate().item(), 0.125);
}

TEST(ParameterGroups, RefuseWhatHasNoneOrTwo) {
  const std::vector<Tensor> all{full({2}, 1), full({3}, 2)};
  SGD one({all[0]}, {}), both(all, {});
  expect_error<ValueError>(
      [&] {
        ParameterGroups({{"a", one}}, all);
      },
      "parameter_groups: parameter 1, [3], is in 0 groups. Give each to one "
      "of them.");
  expect_error<ValueError>(
      [&] {
        ParameterGroups({{"a", one}, {"b", both}}, all);
      },
      "parameter_groups: parameter 0, [2], is in 2 groups. Give each to one "
      "of them.");
  expect_error<ValueError>(
      [&] {
        ParameterGroups({{"a", both}}, {all[0]});
      },
      "parameter_groups: \"a\" has a parameter that is not among those of "
      "all, [3]. Pass the parameters of the whole model.");
  expect_error<ValueError>([&] { ParameterGroups({}, all); },
                           "parameter_groups: there is no optimizer. Pass one or more.");
}

}  // namespace
}  // namespace plimsoll::optim
