// "Will it fit?": what it says fits trains in that memory on the CPU, one example more does not.
#include <gtest/gtest.h>

#include <cmath>

#include "examples/measure/fitting.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/examples/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::examples {
namespace {

constexpr FitOptions kShort{.search_seconds = 0.02};
constexpr BudgetOptions kPlanning{CostModel::model, kShort.search_seconds};

FitModel small_gpt() {
  return {.name = "gpt", .gpt = {.vocabulary = 31, .context = 16, .layers = 2, .width = 32}};
}

StepFunction function_of(const ModelStep& step) {
  return [&step](std::span<const Tensor> in) { return step(in); };
}

// Trains one step of `batch` on the CPU in a pool that holds no byte more than `bytes`.
void expect_trains(const FitModel& model, Precision precision, int64_t batch, int64_t bytes) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider(), INT64_MAX - 1);
  const AllocatorScope scope(pool);
  const ModelStep function(model, precision, Device::cpu);
  std::vector<Tensor> inputs;
  for (const Meta& meta : function.inputs(batch)) {
    const MemoryScope input(MemoryClass::input);
    inputs.push_back(zeros(meta.shape, {meta.dtype}));
  }
  pool->set_limit(bytes);
  Step step(function_of(function), {.budget = bytes, .planning = kPlanning});
  EXPECT_TRUE(std::isfinite(step.run(inputs)[0].item()));
  EXPECT_LE(pool->stats().peak.bytes, bytes);
}

int64_t bytes_without_recompute(const ModelStep& function, int64_t batch) {
  Step step(function_of(function));
  const Plan& plan = step.plan(function.inputs(batch));
  return plan.total_bytes() + plan.result_bytes;
}

void expect_exact(const FitModel& model, Precision precision, int64_t bytes) {
  const ModelStep planned(model, precision);
  int64_t before = 0;
  for (const Recomputing recomputing :
       {Recomputing::none, Recomputing::up_to_a_tenth, Recomputing::smallest}) {
    SCOPED_TRACE(cat(model.name, " ", static_cast<int>(recomputing)));
    const Fit fit = FitSearch(planned, kShort).largest_batch(bytes, recomputing);
    ASSERT_GT(fit.batch, 1);
    EXPECT_LE(fit.bytes, bytes);
    EXPECT_GE(fit.batch, before);
    before = fit.batch;
    EXPECT_GT(fit.seconds, 0);
    if (recomputing != Recomputing::smallest) {
      EXPECT_LE(fit.added_seconds, 0.1 * fit.seconds);
    }
    expect_trains(model, precision, fit.batch, bytes);
    if (recomputing == Recomputing::none) {
      EXPECT_EQ(bytes_without_recompute(planned, fit.batch), fit.bytes);
      EXPECT_GT(bytes_without_recompute(planned, fit.batch + 1), bytes);
    }
    if (recomputing == Recomputing::smallest) {
      Step step(function_of(planned), {.budget = bytes, .planning = kPlanning});
      try {
        const Recompute& more =
            step.plan(planned.inputs(fit.batch + 1 + fit.batch / 256)).recompute;
        EXPECT_GT(more.repeated_seconds, 0.9 * more.step_seconds);  // it would about double it
      } catch (const BudgetError&) {
      }
    }
  }
}

TEST(Fit, WhatFitsTrainsAndOneMoreDoesNot) {
  expect_exact({.name = "resnet8"}, Precision::bf16, 8 << 20);
  expect_exact(small_gpt(), Precision::f32, 8 << 20);
  expect_exact(small_gpt(), Precision::f16, 8 << 20);
}

TEST(Fit, TakesNoMemory) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const ModelStep step({.name = "lenet"}, Precision::f32);
  EXPECT_GT(FitSearch(step, kShort).largest_batch(int64_t{1} << 40, Recomputing::none).batch,
            100'000);
  EXPECT_EQ(pool->stats().allocations, 0);
}

TEST(Fit, SaysWhatOneExampleTakes) {
  const ModelStep step({.name = "lenet"}, Precision::f32);
  const Fit fit = FitSearch(step, kShort).largest_batch(1 << 20, Recomputing::smallest);
  EXPECT_EQ(fit.batch, 0);
  EXPECT_GT(fit.least_bytes, 3 * 4 * step.parameter_count());  // weights and Adam's two moments
}

// Within a tenth one example takes more than at the smallest, and to the byte what is said.
TEST(Fit, SaysWhatOneExampleTakesWithinATenth) {
  const ModelStep step({.name = "resnet8"}, Precision::f32);
  const auto fit = [&](int64_t bytes, Recomputing recomputing) {
    return FitSearch(step, kShort).largest_batch(bytes, recomputing);
  };
  const int64_t least = fit(1, Recomputing::up_to_a_tenth).least_bytes;
  EXPECT_GT(fit(least - 1, Recomputing::smallest).batch, 0);
  EXPECT_EQ(fit(least - 1, Recomputing::up_to_a_tenth).batch, 0);
  EXPECT_EQ(fit(least - 1, Recomputing::up_to_a_tenth).least_bytes, least);
  EXPECT_EQ(fit(least, Recomputing::up_to_a_tenth).batch, 1);

  const Outcome printed =
      run(cat("fit --model resnet8 --precisions f32 --plan-seconds 0.02 --vram ", least - 1));
  EXPECT_NE(printed.output.find("up to +10 %  not one example: it takes "), std::string::npos)
      << printed.output;
  EXPECT_EQ(printed.output.find("smallest     not one example"), std::string::npos)
      << printed.output;
}

TEST(Fit, StopsAtTheLargestItWasAskedFor) {
  const ModelStep step({.name = "lenet"}, Precision::f32);
  for (const int64_t most : {1, 2, 7}) {
    const FitOptions options{.search_seconds = 0.02, .most = most};
    EXPECT_EQ(FitSearch(step, options).largest_batch(int64_t{1} << 40, Recomputing::none).batch,
              most);
  }
}

TEST(Fit, TimesFollowTheDevice) {
  const ModelStep step(small_gpt(), Precision::f32);
  const auto seconds = [&](const DeviceSpeed& speed) {
    return FitSearch(step, {.speed = speed}).largest_batch(8 << 20, Recomputing::none).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds({}), 2 * seconds({2e11, 2e11, 2e10}));
  EXPECT_LT(seconds({1e11, 1e11, 2e10}), seconds({}));
  EXPECT_EQ(seconds({1e11, 2e11, 1e10}), seconds({}));  // nothing here is of 16 bits
}

// The program for people agrees with the program that trains.
TEST(Fit, TrainCnnAgrees) {
  const Outcome asked =
      run("fit --model lenet --vram 60MiB --precisions f32 --plan-seconds 0.03 --json /dev/null");
  ASSERT_EQ(asked.code, 2) << "/dev/null is no regular file" << asked.output;
  const Outcome fit = run("fit --model lenet --vram 60MiB --precisions f32 --plan-seconds 0.03");
  ASSERT_EQ(fit.code, 0) << fit.output;
  const size_t row = fit.output.find("smallest");
  ASSERT_NE(row, std::string::npos) << fit.output;
  const int64_t batch = std::stoll(fit.output.substr(row + 8));
  const auto train = [](int64_t images) {  // one batch more, before it is tensors
    const int64_t bytes = (60 << 20) + images * (28 * 28 * 4 + 8);
    return run(cat("train_cnn --plan-only --workers 0 --cost model --plan-seconds 0.03 --batch ",
                   images, " --budget ", bytes));
  };
  EXPECT_EQ(train(batch).code, 0) << fit.output;
  EXPECT_EQ(train(batch + 1).code, 2) << fit.output;
}

TEST(Fit, RefusesInASentence) {
  for (const char* arguments :
       {"", "--vram 0", "--vram 8GiB --model bert", "--vram 8GiB --image 3",
        "--vram 8GiB --tflops -1", "--vram 8GiB --layers 2",
        "--vram 8GiB --model gpt --image 32,32,3", "--vram 1GiB --model gpt --width 130"})
    EXPECT_EQ(run(cat("fit ", arguments)).code, 2) << arguments;
}

// ---- a network between ranks

Lanes lanes_of_gpt(int64_t ranks, double bytes_per_second) {
  const FitModel model{.name = "gpt",
                       .gpt = {.vocabulary = 31, .context = 64, .layers = 4, .width = 64},
                       .ranks = ranks,
                       .accumulate = ranks};
  const Link link{.ranks = ranks, .bytes_per_second = bytes_per_second};
  const FitOptions options{.link = link, .search_seconds = 0.02, .most = 1};
  const ModelStep step(model, Precision::f32);
  return FitSearch(step, options).largest_batch(int64_t{1} << 30, Recomputing::none).lanes;
}

TEST(FitLink, HidesWhatComputingHasTimeFor) {
  const Lanes none = lanes_of_gpt(2, 0);
  EXPECT_EQ(none.communicating, 0);
  EXPECT_EQ(none.exposed, 0);
  EXPECT_GT(none.computing, 0);
  double exposed = 0;
  for (const double gbytes : {100, 10, 1}) {
    const Lanes lanes = lanes_of_gpt(2, 1e9 * gbytes);
    EXPECT_EQ(lanes.computing, none.computing);
    EXPECT_DOUBLE_EQ(lanes.seconds, lanes.computing + lanes.exposed);
    EXPECT_GE(lanes.exposed, exposed);
    EXPECT_LT(lanes.exposed, lanes.communicating);  // some of it is always beside
    exposed = lanes.exposed;
  }
  EXPECT_GT(lanes_of_gpt(8, 1e9).communicating, lanes_of_gpt(2, 1e9).communicating);
}

TEST(FitLink, IsPrintedForEachRow) {
  const Outcome outcome =
      run("fit --model lenet --vram 120MiB --precisions f32 --plan-seconds 0.02 --ranks 2,4 "
          "--link-gbytes 0.125");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  size_t rows = 0;
  for (size_t at = 0; (at = outcome.output.find("ms beside, waits for", at)) != std::string::npos;
       ++at)
    ++rows;
  EXPECT_EQ(rows, 6U) << outcome.output;
}

TEST(FitLink, RefusesALinkThatIsNone) {
  for (const char* arguments :
       {"--ranks 2 --link-gbytes 0", "--ranks 2 --link-gbytes 1 --link-us 0",
        "--ranks 2 --link-gbytes -1", "--ranks 2 --link-us 20", "--link-gbytes 1"})
    EXPECT_EQ(run(cat("fit --model lenet --vram 1GiB ", arguments)).code, 2) << arguments;
}

}  // namespace
}  // namespace plimsoll::examples
