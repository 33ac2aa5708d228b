// Pruning beside loss scaling: how many updates were made is asked only about where masks may be
// due, with the bits of a loop that asks before each. Skipped by name where there is no GPU;
// simulated_steps runs it everywhere.
#include "optim/async_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradients.h"
#include "core/engine/transfer.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/loss_scaler.h"
#include "optim/prune.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

constexpr int kSteps = 80;
constexpr optim::SparsitySchedule kSchedule{.final = 0.75, .begin = 10, .end = 40, .frequency = 10};
bool overflows(int step) { return step % 3 == 1 || (step > 30 && step < 40); }

struct Trained {
  std::vector<float> weights;
  std::vector<int> pruned, asked;  // steps
  int64_t waits = 0;               // in the steps that did not ask
};

Trained train(Device device, bool always_asks) {
  const auto on_device = [&](std::vector<float> x) {
    return to_device(Tensor::of<float>(x, {2, 4}), device);
  };
  const std::array inputs{on_device({1, -2, 3, 4, -5, 6, 7, -8}),
                          on_device({1, HUGE_VALF, 3, 4, 5, 6, 7, 8})};
  const Tensor w = on_device({4, 3, 2, 1, 5, 6, 7, 8}).require_grad();
  optim::Adam adam({w});
  const auto scaler = optim::LossScaler::dynamic({.interval = 4}, device);
  optim::Pruner pruner({{"w", w}}, {.schedule = kSchedule});
  optim::AsyncCount made(adam.steps());
  Step step([&](const Tensor& x) {
    const Tensor loss = sum(w * w);
    const auto [grads, skip] =
        scaler.unscale(gradients(scaler.scale(loss + sum(w * x)), std::array{w}));
    adam.update(grads, skip);
    pruner.apply();
    scaler.update(skip);
    return loss;
  });
  Trained result;
  const auto waits = [&] { return device == Device::cuda ? cuda_queue().counts().waits : 0; };
  for (int i = 0; i < kSteps; ++i) {
    const int64_t before = waits();
    made.next();
    const bool asks = always_asks || made.any([](int64_t n) { return kSchedule.due(n); });
    if (asks) {
      result.asked.push_back(i);
      const int64_t exact = always_asks ? adam.steps_made() : made.exact();
      EXPECT_EQ(exact, adam.steps_made()) << i;
      if (pruner.prune(exact)) result.pruned.push_back(i);
    }
    step(inputs[overflows(i) ? 1 : 0]);
    if (!asks && i > 2) result.waits += waits() - before;  // by then it was recorded
  }
  result.weights = w.to_vector<float>();
  return result;
}

void expect_few_questions(Device device) {
  const Trained asked = train(device, true), late = train(device, false);
  EXPECT_EQ(late.weights, asked.weights);
  EXPECT_EQ(std::ranges::count(late.weights, 0.0f), 6);
  EXPECT_EQ(late.pruned, asked.pruned);
  // Before each of the numbers 10, 20, 30 and 40 as long as the count may be that.
  EXPECT_GE(late.pruned.size(), 4U);
  EXPECT_LE(late.asked.size(), 40U);
  EXPECT_EQ(late.waits, 0);
}

TEST(AsyncCount, AsksOnlyWhereMasksMayBeDue) { expect_few_questions(Device::cpu); }

TEST(AsyncCount, Refusals) {
  const Tensor steps = zeros({}, {DType::i64});
  optim::AsyncCount made(steps);
  EXPECT_FALSE(made.any([](int64_t) { return true; }));
  expect_error<StateError>([&] { made.exact(); },
                           "async_count: nothing was counted yet. Call next() first.");
  const auto count_two = [&] {
    made.next();
    const int64_t more = steps.item<int64_t>() + 2;
    steps.write(std::span(&more, 1));
  };
  for (int i = 0; i < 3; ++i) count_two();
  expect_error<StateError>(
      count_two,
      "async_count: the number of updates went from 0 to 2 with one next(). Call "
      "it before each update, and begin anew after a state was restored.");
}

TEST(CudaAsyncCount, WaitsOnlyWhereMasksMayBeDue) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  expect_few_questions(Device::cuda);
}

}  // namespace
}  // namespace plimsoll
