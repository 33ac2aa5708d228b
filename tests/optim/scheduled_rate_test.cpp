// Schedules beside updates that are skipped: the bits of a loop that asks before each update how
// many were made, for every kind of schedule, eagerly and captured, resumed at any step.
#include "optim/scheduled_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "autograd/gradients.h"
#include "core/base/philox.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/loss_scaler.h"
#include "optim/plateau.h"
#include "tests/support/errors.h"

namespace plimsoll::optim {
namespace {

// One parameter, whose gradient is the input.
struct Training {
  Tensor w = ones({3}).require_grad();
  Adam optimizer{{w}};
  LossScaler scaler = LossScaler::dynamic({.interval = 4});
  std::optional<ScheduledRate> rate = {};

  std::vector<Tensor> operator()(std::span<const Tensor> in) {
    if (rate) rate->set(optimizer);
    const auto [grads, skip] =
        scaler.unscale(gradients(scaler.scale(sum(w * in[0])), std::array{w}));
    optimizer.update(grads, skip);
    scaler.update(skip);
    return grads;
  }
  std::vector<Tensor> state() const {
    std::vector<Tensor> all{w};
    for (const auto& [name, tensor] : optimizer.state()) all.push_back(tensor);
    for (const auto& [name, tensor] : scaler.state()) all.push_back(tensor);
    return all;
  }
  std::vector<std::vector<double>> bits() const {
    std::vector<std::vector<double>> all;
    for (const Tensor& tensor : state()) all.push_back(tensor.to_vector<double>());
    return all;
  }
};

// Overflows in a row, more of them than rates are written ahead, and long rests.
bool overflows(int64_t i) {
  return (i >= 40 && i < 60) ||
         (i % 100 < 70 && random_words(3, 0, static_cast<uint64_t>(i))[0] % 3 == 0);
}
Tensor input(int64_t i) {
  const float x = 1 + static_cast<float>(i % 7);
  return Tensor::of<float>({x, overflows(i) ? INFINITY : -x, 3}, {3});
}
constexpr int64_t kSteps = 200;

std::vector<std::pair<const char*, Schedule>> every_schedule() {
  return {{"constant", constant(0.01)},
          {"step_decay", step_decay(0.1, 7, 0.9)},
          {"multi_step", multi_step(0.1, {5, 6, 40, 70}, 0.5)},
          {"exponential", exponential(0.1, 0.97)},
          {"polynomial", polynomial(0.1, 90, 2)},
          {"cyclic", cyclic(0.001, 0.1, 5, 11)},
          {"cosine", cosine(0.1, 0.01, 60)},
          {"cosine_restarts", cosine_restarts(0.1, 0.01, 9, 2)},
          {"one_cycle", one_cycle(0.1, 100)},
          {"warmup", warmup(20, exponential(0.1, 0.97))},
          {"warmup_cosine", warmup_cosine(0.1, 0.01, 20, 100)}};
}

void restore(const Tensor& to, const Tensor& saved) {
  const auto as = [&]<class T>(T) { to.write(std::span<const T>(saved.to_vector<T>())); };
  if (to.dtype() == DType::f32) return as(float());
  return to.dtype() == DType::f64 ? as(double()) : as(int64_t());
}

// The way it is done with numbers.
std::vector<std::vector<double>> asked(const Schedule& schedule, std::vector<double>* rates) {
  Training training;
  for (int64_t i = 0; i < kSteps; ++i) {
    training.optimizer.set_learning_rate(schedule(training.optimizer.steps_made()));
    rates->push_back(training.optimizer.learning_rate().item());
    training(std::array{input(i)});
  }
  EXPECT_LT(training.optimizer.steps_made(), kSteps - 50);
  EXPECT_GT(training.optimizer.steps_made(), kSteps / 2);
  return training.bits();
}

TEST(ScheduledRate, HasTheBitsOfALoopThatAsks) {
  for (const auto& [name, schedule] : every_schedule()) {
    std::vector<double> rates;
    const auto expected = asked(schedule, &rates);
    for (const bool captured : {false, true}) {
      Training training;
      training.rate.emplace(schedule, training.optimizer.steps());
      const StepFunction function = std::ref(training);
      Step step(function);
      for (int64_t i = 0; i < kSteps; ++i) {
        training.rate->next();
        const std::vector<Tensor> in{input(i)};
        captured ? step.run(in) : function(in);
        ASSERT_EQ(training.optimizer.learning_rate().item(), rates[static_cast<size_t>(i)])
            << name << " " << i;
      }
      EXPECT_EQ(training.bits(), expected) << name << " " << captured;
    }
  }
}

TEST(ScheduledRate, GoesOnFromAStateThatWasSaved) {
  const Schedule schedule = warmup_cosine(0.1, 0.01, 20, 100);
  std::vector<double> rates;
  const auto expected = asked(schedule, &rates);
  for (const int64_t saved : {1, 8, 15, 50, 77, 199}) {
    Training before, after;
    before.rate.emplace(schedule, before.optimizer.steps());
    after.rate.emplace(schedule, after.optimizer.steps());
    for (int64_t i = 0; i < kSteps; ++i) {
      if (i == saved)
        for (size_t k = 0; k < after.state().size(); ++k)
          restore(after.state()[k], before.state()[k]);
      Training& training = i < saved ? before : after;
      training.rate->next();
      training(std::array{input(i)});
    }
    EXPECT_EQ(after.bits(), expected) << saved;
  }
}

// One that is restored while it goes on.
TEST(ScheduledRate, GoesOnFromAnEarlierStateAfterARestart) {
  const Schedule schedule = warmup_cosine(0.1, 0.01, 20, 100);
  std::vector<double> rates;
  const auto expected = asked(schedule, &rates);
  for (const int64_t earlier : {0, 8, 15, 70}) {
    Training training;
    training.rate.emplace(schedule, training.optimizer.steps());
    std::vector<Tensor> saved;
    const auto train = [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        training.rate->next();
        training(std::array{input(i)});
      }
    };
    train(0, earlier);
    for (const Tensor& tensor : training.state()) saved.push_back(clone(tensor.detach()));
    train(earlier, earlier + 50);
    for (size_t k = 0; k < saved.size(); ++k) restore(training.state()[k], saved[k]);
    training.rate->restart();
    train(earlier, kSteps);
    EXPECT_EQ(training.bits(), expected) << earlier;
  }
}

// What next() did not provide for has no rate, least of all that of another update.
TEST(ScheduledRate, IsNaNWhereItIsNotProvided) {
  const Schedule schedule = exponential(0.1, 0.9);
  const auto provided = [&](const Training& training) {
    training.rate->set(training.optimizer);
    const double rate = training.optimizer.learning_rate().item();
    EXPECT_TRUE(std::isnan(rate) || rate == schedule(training.optimizer.steps_made())) << rate;
    return !std::isnan(rate);
  };
  Training training;
  const Tensor steps = training.optimizer.steps();
  training.rate.emplace(schedule, steps);
  EXPECT_FALSE(provided(training));  // next() was never called
  training.rate->next();
  for (int64_t i = 0; i < 40; ++i, increment(steps))
    EXPECT_EQ(provided(training), i < ScheduledRate::kRates) << i;

  Training hasty;  // two updates for one next()
  hasty.rate.emplace(schedule, hasty.optimizer.steps());
  for (int64_t i = 0; i < 16; ++i) {
    hasty.rate->next();
    for (int64_t again = 0; again < 2; ++again, increment(hasty.optimizer.steps()))
      EXPECT_EQ(provided(hasty), i < 8) << i;
  }
  for (int again = 0; again < 2; ++again)
    expect_error<StateError>([&] { hasty.rate->next(); },
                             "scheduled_rate: the number of updates went from 0 to 16 in 8 steps. "
                             "Call next() before each step, and restart() after a state was "
                             "restored.");

  Training restored;  // and no restart()
  restored.rate.emplace(schedule, restored.optimizer.steps());
  for (int64_t i = 0; i < 32; ++i, increment(restored.optimizer.steps())) {
    if (i == 20) restored.optimizer.steps().write(std::span<const int64_t>(std::array{int64_t{3}}));
    restored.rate->next();
    EXPECT_EQ(provided(restored), i < 20) << i;
  }
  expect_error<StateError>([&] { restored.rate->next(); },
                           "scheduled_rate: the number of updates went from 16 to 7 in 8 steps. "
                           "Call next() before each step, and restart() after a state was "
                           "restored.");
  restored.rate->restart();
  restored.rate->next();
  EXPECT_TRUE(provided(restored));
}

// Steps that make no update, as in the middle of an accumulated one, take from the rates that were
// written ahead like others.
TEST(ScheduledRate, FewerUpdatesThanStepsAreNone) {
  const Schedule schedule = exponential(0.1, 0.9);
  Training training;
  training.rate.emplace(schedule, training.optimizer.steps());
  for (int64_t i = 0; i < kSteps; ++i) {
    training.rate->next();
    training.rate->set(training.optimizer);
    ASSERT_EQ(training.optimizer.learning_rate().item(), schedule(training.optimizer.steps_made()));
    if (i % 5 == 4) training(std::array{input(i)});
  }
}

// A rate that depends on losses is set as ever: nothing is written ahead.
TEST(ScheduledRate, APlateauNeedsNone) {
  const auto train = [](bool captured) {
    Training training;
    const StepFunction function = std::ref(training);
    Step step(function);
    Plateau rate(0.1, {.factor = 0.5, .patience = 1});
    for (int64_t i = 0; i < kSteps; ++i) {
      const std::vector<Tensor> in{input(i)};
      captured ? step.run(in) : function(in);
      if (i % 5 == 4)
        training.optimizer.set_learning_rate(
            rate.observe(std::abs(training.w.to_vector<double>()[0])));
    }
    EXPECT_LT(rate.rate(), 0.1);
    return training.bits();
  };
  EXPECT_EQ(train(true), train(false));
}

TEST(ScheduledRate, RefusesWhatIsNoSchedule) {
  Training training;
  const Tensor steps = training.optimizer.steps();
  expect_error<ValueError>([&] { ScheduledRate(nullptr, steps); },
                           "scheduled_rate: there is no schedule: an empty function. Pass one.");
  ScheduledRate falling([](int64_t step) { return 5.0 - static_cast<double>(step); }, steps);
  expect_error<ValueError>([&] { falling.next(); },
                           "scheduled_rate: the rate of update 6 is not a number from 0 that f32 has: "
                           "-1. Use a "
                           "schedule of such numbers.");
  training.rate.emplace(constant(1), steps);
  Step step([&](const Tensor& x) {
    training.rate->next();
    return x + x;
  });
  expect_error<StateError>([&] { step(ones({1})); },
                           "scheduled_rate: a step is being captured: it would be done once and "
                           "never again. Call next() between steps.");
}

}  // namespace
}  // namespace plimsoll::optim
