// Schedules, value by value.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "optim/plateau.h"
#include "optim/schedule.h"

namespace plimsoll::optim {
namespace {

TEST(Schedule, Constant) {
  EXPECT_EQ(constant(0.5)(0), 0.5);
  EXPECT_EQ(constant(0.5)(1000000), 0.5);
}

TEST(Schedule, StepDecayFallsEveryFewSteps) {
  const Schedule rate = step_decay(1, 3, 0.5);
  const double expected[] = {1, 1, 1, 0.5, 0.5, 0.5, 0.25};
  for (int64_t step = 0; step < 7; ++step) EXPECT_DOUBLE_EQ(rate(step), expected[step]) << step;
}

TEST(Schedule, CosineFallsAndRisesAgain) {
  const Schedule rate = cosine(1, 0.2, 4);
  const double root = std::sqrt(0.5);
  const double expected[] = {1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2, 0.6 - 0.4 * root};
  for (int64_t step = 0; step < 6; ++step) EXPECT_NEAR(rate(step), expected[step], 1e-15) << step;
  EXPECT_NEAR(rate(8), 1, 1e-15);
}

TEST(Schedule, WarmupRisesToWhereTheNextBegins) {
  const Schedule rate = warmup(4, step_decay(2, 2, 0.5), 0.5);
  const double expected[] = {1, 1.25, 1.5, 1.75, 2, 2, 1, 1, 0.5};
  for (int64_t step = 0; step < 9; ++step) EXPECT_DOUBLE_EQ(rate(step), expected[step]) << step;
  EXPECT_EQ(warmup(4, constant(2))(0), 0);
}

TEST(Schedule, WarmupCosineIsThatOfNanoGpt) {
  const Schedule rate = warmup_cosine(1, 0.2, 3, 7);
  const double root = std::sqrt(0.5);
  const double expected[] = {0.25, 0.5, 0.75, 1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2, 0.2};
  for (int64_t step = 0; step < 9; ++step) EXPECT_NEAR(rate(step), expected[step], 1e-15) << step;
  EXPECT_EQ(rate(100), 0.2);
  EXPECT_EQ(warmup_cosine(1, 0.2, 0, 7)(0), 1);
}

TEST(Schedule, StepwiseOnes) {
  const Schedule steps = multi_step(1, {2, 4}, 0.5);
  for (int64_t step = 0; step < 6; ++step)
    EXPECT_EQ(steps(step), step < 2 ? 1 : step < 4 ? 0.5 : 0.25);
  EXPECT_NEAR(exponential(2, 0.5)(3), 0.25, 1e-15);
  EXPECT_NEAR(polynomial(1, 4, 2)(1), 0.5625, 1e-15);
  EXPECT_EQ(polynomial(1, 4, 2)(9), 0);
}

TEST(Schedule, CyclesAndRestarts) {
  const Schedule saw = cyclic(1, 3, 4, 2);
  const double expected[] = {1, 1.5, 2, 2.5, 3, 2, 1, 1.5};
  for (int64_t step = 0; step < 8; ++step) EXPECT_NEAR(saw(step), expected[step], 1e-15) << step;
  EXPECT_EQ(cyclic(1, 3, 4, 2, {.each_cycle = 0.5})(4), 3);
  EXPECT_EQ(cyclic(1, 3, 4, 2, {.each_cycle = 0.5})(10), 2);
  EXPECT_EQ(cyclic(1, 3, 4, 2, {.each_step = 0.5})(2), 1.25);
  const Schedule restarts = cosine_restarts(1, 0, 2, 3);  // lengths 2, 6, 18
  EXPECT_EQ(restarts(2), 1);
  EXPECT_NEAR(restarts(5), 0.5, 1e-15);
  EXPECT_EQ(restarts(8), 1);
  EXPECT_EQ(cosine_restarts(1, 0, 2)(1000000), 1);
  const Schedule one = one_cycle(1, 11, {.rising = 0.5, .start_divisor = 4, .end_divisor = 10});
  EXPECT_NEAR(one(0), 0.25, 1e-15);
  EXPECT_NEAR(one(10), 0.025, 1e-15);
  EXPECT_NEAR(one(99), 0.025, 1e-15);
  OneCycle shape{.rising = 0.4, .start_divisor = 4, .end_divisor = 10, .linear = true};
  EXPECT_NEAR(one_cycle(1, 10, shape)(1), 0.5, 1e-15);
  EXPECT_NEAR(one_cycle(1, 10, shape)(9), 0.025, 1e-15);
  shape.three_phase = true;  // 3 steps up, 3 down, 3 to the end
  const double corners[] = {0.25, 1, 0.25, 0.025};
  for (int64_t k = 0; k < 4; ++k)
    EXPECT_NEAR(one_cycle(1, 10, shape)(3 * k), corners[k], 1e-15) << k;
}

TEST(Plateau, FallsWhenNothingGetsBetter) {
  Plateau rate(1, {.factor = 0.5, .patience = 1, .cooldown = 2, .lowest = 0.2});
  // Progress, progress, a fall that is too small, nothing: the rate falls. Two cool, two count.
  const double metrics[] = {3, 2, 1.9999, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  const double expected[] = {1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.2};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(rate.observe(metrics[i]), expected[i]) << i;
  EXPECT_EQ(rate.observe(1), 0.2);
  EXPECT_EQ(rate.rate(), 0.2);
  EXPECT_EQ(Plateau(1, {.patience = 0}).observe(std::nan("")), 0.1);
  EXPECT_THROW(Plateau(1, {.factor = 1}), ValueError);
  Plateau fine(1e-7, {.patience = 0});  // from here down a fall would be smaller than eps
  const double falls[] = {1e-7, 1e-8, 1e-8};
  for (int i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(fine.observe(1), falls[i]) << i;
  EXPECT_THROW(Plateau(1, {.eps = -1}), ValueError);
  EXPECT_THROW(Plateau(1, {.patience = -1}), ValueError);
}

TEST(Schedule, RefusesCountsItCannotDivideBy) {
  EXPECT_THROW(polynomial(1, 0), ValueError);
  EXPECT_THROW(cyclic(1, 2, 0, 3), ValueError);
  EXPECT_THROW(cosine_restarts(1, 0, 3, 0), ValueError);
  EXPECT_THROW(one_cycle(1, 2), ValueError);
  EXPECT_THROW(one_cycle(1, 10, {.rising = 0.7, .three_phase = true}), ValueError);
  EXPECT_THROW(step_decay(1, 0, 0.5), ValueError);
  EXPECT_THROW(cosine(1, 0, 0), ValueError);
  EXPECT_THROW(warmup(0, constant(1)), ValueError);
  EXPECT_THROW(warmup(5, {}), ValueError);
  EXPECT_THROW(warmup_cosine(1, 0, -1, 7), ValueError);
  try {
    warmup_cosine(1, 0, 7, 7);
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(),
                 "warmup_cosine: the warm-up does not end before the whole: 7 of 7 steps. Use 0 <= "
                 "warmup_steps < total_steps.");
  }
}

}  // namespace
}  // namespace plimsoll::optim
