// Which instructions are measured, how often and on what, told by ops that note their runs; and the
// rule between near and far.
#include "memory/recompute/costs.h"

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "core/cpu/caches.h"
#include "core/cpu/parallel.h"
#include "memory/passes/dead_code.h"
#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

struct Label {
  int value = 0;
  bool operator==(const Label&) const = default;
};

int runs = 0;
std::set<int> labels_run;

constexpr OpDef noting_op{.name = "noting", .infer = same_as_input, .cpu = [](const Call& call) {
                            labels_run.insert(call.attrs.as<Label>().value);
                          }};

Program program_of(const OpDef& op, std::initializer_list<int> labels, int64_t n = 64) {
  return capture(
      [&](std::span<const Tensor> in) {
        std::vector<Tensor> results;
        for (const int label : labels) results.push_back(apply1(op, {in[0], in[1]}, Label{label}));
        return results;
      },
      Metas(2, vec(n, Device::cpu)));
}

TEST(MemoryCosts, EachKindIsMeasuredOnceInAProcess) {
  using Labels = std::set<int>;
  const auto run_for = [](std::initializer_list<int> labels, int64_t n = 64) {
    labels_run.clear();
    instruction_costs(program_of(noting_op, labels, n), CostModel::measured);
    return labels_run;
  };
  EXPECT_EQ(run_for({1}), Labels{1});
  EXPECT_EQ(run_for({1}), Labels{});
  EXPECT_EQ(run_for({2, 2, 1, 2}), Labels{2});
  EXPECT_EQ(run_for({1, 2}, 65), (Labels{1, 2}));
  const int before = num_threads();
  set_num_threads(before + 1);
  EXPECT_EQ(run_for({1}), Labels{1});
  set_num_threads(before);
  EXPECT_EQ(run_for({1}), Labels{});
  const std::vector<Cost> costs =
      instruction_costs(program_of(noting_op, {2, 1, 2}), CostModel::measured);
  EXPECT_EQ(costs[0], costs[2]);
}

// One whose few runs would take longer than there is time for runs once.
TEST(MemoryCosts, WhatTakesLongIsMeasuredOnce) {
  static constexpr double kLong = 0.4 * kMeasuringSeconds;
  static constexpr OpDef slow_op{
      .name = "slow", .infer = same_as_input, .cpu = [](const Call&) {
        ++runs;
        std::this_thread::sleep_for(std::chrono::duration<double>(kLong));
      }};
  const Program program = program_of(slow_op, {1});
  runs = 0;
  instruction_costs(program, CostModel::measured);
  EXPECT_EQ(runs, 1);
  const Cost cost = instruction_costs(program, CostModel::measured)[0];
  EXPECT_GE(cost.near, kLong);
  EXPECT_EQ(cost.near, cost.far);
}

// What a scalar takes beside the model's cost says nothing of a large tensor.
TEST(MemoryCosts, WhatIsLargeIsMeasuredAfterScalars) {
  static constexpr OpDef scalar_op{
      .name = "scalar", .infer = same_as_input, .cpu = [](const Call&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }};
  const Program program = capture(
      [](std::span<const Tensor> in) {
        return std::vector{apply1(scalar_op, {in[0], in[0]}, Label{4}),
                           apply1(noting_op, {in[1], in[1]}, Label{4})};
      },
      Metas{vec(1, Device::cpu), vec(1 << 20, Device::cpu)});
  labels_run.clear();
  const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
  EXPECT_EQ(labels_run, std::set<int>{4});
  EXPECT_LT(costs[1].far, 1);
}

TEST(MemoryCosts, FarIsNeverLessThanNear) {
  const Program program = capture(
      [](std::span<const Tensor> in) { return std::vector{plus(scan(in[0]), flip(in[0]))}; },
      Metas{vec(1 << 16, Device::cpu)});
  for (const Cost& cost : instruction_costs(program, CostModel::measured)) {
    EXPECT_GT(cost.near, 0);
    EXPECT_LE(cost.near, cost.far);
  }
}

bool in_place = false;

// In place where it is in the step, which has half the memory to go through.
TEST(MemoryCosts, InPlaceWhereTheStepIs) {
  static constexpr OpDef place_op{
      .name = "place",
      .infer = same_as_input,
      .cpu = [](const Call& call) { in_place = call.in[0].data == call.out[0].data; },
      .inplace = 0};
  const auto measure = [](bool needed_later) {
    instruction_costs(remove_dead(capture(
                          [&](std::span<const Tensor> in) {
                            const Tensor x = flip(in[0]), y = apply1(place_op, {x});
                            return std::vector{needed_later ? plus(y, x) : flip(y)};
                          },
                          Metas{vec(100, Device::cpu)})),
                      CostModel::measured);
    return in_place;
  };
  EXPECT_TRUE(measure(false));
  EXPECT_FALSE(measure(true));
}

// What writes into its inputs has the model's cost, and its inputs stay as they are.
TEST(MemoryCosts, WhatWritesInPlaceDoesNotRun) {
  const Tensor total = ramp(8);
  const std::vector<float> before = total.to_vector<float>();
  const Program program = capture(
      [&](std::span<const Tensor> in) {
        add_to(total, in[0]);
        return std::vector{scale(in[0], 2)};
      },
      Metas{vec(8, Device::cpu)});
  const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
  const double modelled = modelled_seconds(program.instructions[0]);
  EXPECT_EQ(modelled, 64e-10);
  EXPECT_EQ(costs[0], (Cost{modelled, modelled}));
  EXPECT_EQ(total.to_vector<float>(), before);
}

// An op that refuses zeros with an E.
template <class E>
constexpr OpDef refusing_op{
    .name = "refusing", .infer = same_as_input, .cpu = [](const Call& call) {
      ++runs;
      check<E>(call.in[0].as<float>()[0] != 0, "refusing: a zero.");
    }};

template <class E>
Cost cost_of_refusing() {
  return instruction_costs(program_of(refusing_op<E>, {1}), CostModel::measured)[0];
}

TEST(MemoryCosts, WhatRefusesZerosHasTheModelsCost) {
  const double modelled = 3 * 64 * 4 / 1e10;
  EXPECT_EQ(cost_of_refusing<ValueError>(), (Cost{modelled, modelled}));
  EXPECT_EQ(cost_of_refusing<IndexError>(), (Cost{modelled, modelled}));
}

// A full memory or a broken device is no cost, and nothing is remembered of it.
TEST(MemoryCosts, AnyOtherErrorIsThrown) {
  for (int i = 0; i < 2; ++i) {
    runs = 0;
    EXPECT_THROW(cost_of_refusing<OutOfMemory>(), OutOfMemory);
    EXPECT_THROW(cost_of_refusing<DeviceError>(), DeviceError);
    EXPECT_THROW(cost_of_refusing<StateError>(), StateError);
    EXPECT_THROW(cost_of_refusing<NumericError>(), NumericError);
    EXPECT_EQ(runs, 4);
  }
}

TEST(MemoryCosts, TheModelRunsNothing) {
  labels_run.clear();
  const double modelled = 3 * 64 * 4 / 1e10;
  EXPECT_EQ(instruction_costs(program_of(noting_op, {3}), CostModel::model),
            (std::vector{Cost{modelled, modelled}}));
  EXPECT_TRUE(labels_run.empty());
}

TEST(MemoryCosts, AnArenaIsAsFarAsItIsLarge) {
  const auto own = static_cast<double>(cache_bytes());
  const double shared = std::max(static_cast<double>(shared_cache_bytes()), 2 * own);
  const auto farness = [](double bytes) { return arena_farness(static_cast<int64_t>(bytes)); };
  EXPECT_EQ(farness(0), 0);
  EXPECT_EQ(farness(own), 0);
  EXPECT_NEAR(farness(std::sqrt(own * shared)), kFarthest / 2, 1e-6);
  EXPECT_NEAR(farness(shared), kFarthest, 1e-12);
  EXPECT_EQ(farness(2 * shared), kFarthest);
  EXPECT_EQ((Cost{2, 6}.at(0.25)), 3);
  EXPECT_EQ((Cost{2, 6}.at(0)), 2);
}

}  // namespace
}  // namespace plimsoll
