// Plans of random programs, checked by an executor that shares no code with the planner.
#include "memory/passes/dead_code.h"
#include "tests/support/memory_checker.h"
#include "tests/support/memory_random.h"

namespace plimsoll {
namespace {

using namespace memory_test;

Program random_program(uint32_t seed, Device device) {
  const MemoryScope scope(MemoryClass::parameter);
  std::vector<Tensor> state{Tensor::empty(vec(48, device)), Tensor::empty(vec(96, device))};
  const int ops = 5 + static_cast<int>(seed % 60);
  return remove_dead(
      capture(RandomStep(seed, ops, state), std::vector{vec(96, device), vec(48, device)}));
}

int64_t sum(const BytesByClass& bytes) {
  int64_t total = 0;
  for (const int64_t b : bytes) total += b;
  return total;
}

TEST(MemoryPlan, NoValueOfARandomProgramIsOverwrittenBeforeItsLastUse) {
  int in_place = 0, on_the_bound = 0;
  constexpr int kPrograms = 400;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed, Device::null);
    const Plan plan = make_plan(program);
    Checker(program, plan).check();
    ASSERT_FALSE(HasFailure());
    ASSERT_GE(plan.arena_bytes, plan.lower_bound);
    EXPECT_EQ(sum(plan.at_peak), plan.lower_bound + plan.pinned_bytes + plan.input_bytes);
    in_place += plan.in_place;
    on_the_bound += plan.arena_bytes == plan.lower_bound;
  }
  EXPECT_GT(in_place, kPrograms);  // the programs do exercise folding
  EXPECT_GT(on_the_bound, kPrograms * 9 / 10);
}

TEST(MemoryPlan, EqualProgramsGiveEqualPlans) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<Tensor> state{Tensor::empty(vec(48)), Tensor::empty(vec(96))};
    const RandomStep step(seed, 40, state);
    const std::vector metas{vec(96), vec(48)};
    const Program first = capture(step, metas), second = capture(step, metas);
    ASSERT_TRUE(first == second);
    EXPECT_TRUE(make_plan(first) == make_plan(second));
  }
}

TEST(MemoryPlan, NamesThePeakAndWhatHoldsIt) {
  Tensor weight;
  {
    const MemoryScope scope(MemoryClass::parameter);
    weight = Tensor::empty(vec(1024));  // 4096 bytes
  }
  const Program program = capture(
      [&](std::span<const Tensor> in) {
        Tensor a = plus(in[0], weight);
        Tensor b = scan(a);  // the peak: a, b and 8192 bytes of scratch
        set_memory_class(b, MemoryClass::gradient);
        return std::vector{rows(scale(flip(b), 2), 0, 16)};
      },
      std::vector{vec(1024)});
  const Plan plan = make_plan(program);
  EXPECT_EQ(plan.peak_instruction, 1);
  EXPECT_EQ(plan.peak_op, "scan");
  EXPECT_EQ(plan.lower_bound, 4096 * 4);
  EXPECT_EQ(plan.arena_bytes, 4096 * 4);
  EXPECT_EQ(plan.pinned_bytes, 4096);
  EXPECT_EQ(plan.input_bytes, 4096);
  EXPECT_EQ(plan.result_bytes, 64);
  EXPECT_EQ(plan.in_place, 1);
  EXPECT_EQ(plan.total_bytes(), 4096 * 6 + 64);
  EXPECT_EQ(plan.text(),
            "plan: 4 instructions, 6 buffers, 1 of them in place\n"
            "  parameters                0.004 MiB   16.6 %\n"
            "  gradients                 0.004 MiB   16.6 %\n"
            "  activations               0.004 MiB   16.6 %\n"
            "  workspace                 0.008 MiB   33.2 %\n"
            "  inputs                    0.004 MiB   16.6 %\n"
            "  results                   0.000 MiB    0.3 %\n"
            "  total                     0.023 MiB  100.0 %\n"
            "  arena 16384 bytes, lower bound 16384; total 24640 bytes\n"
            "  most is alive at instruction 1 (scan)\n");
}

TEST(MemoryPlan, CountsAnExternalOncePerStorage) {
  const Tensor weight = Tensor::empty(vec(1024));
  const Program program = capture(
      [&](std::span<const Tensor> in) {
        return std::vector{plus(in[0], rows(weight, 0, 512)), plus(in[0], rows(weight, 512, 1024))};
      },
      std::vector{vec(512)});
  EXPECT_EQ(make_plan(program).pinned_bytes, 4096);
}

TEST(MemoryPlan, AnEmptyProgramTakesNothing) {
  const Plan plan = make_plan(capture([](auto) { return std::vector<Tensor>{}; }, {}));
  EXPECT_EQ(plan.total_bytes(), 0);
  EXPECT_EQ(plan.peak_instruction, -1);
}

TEST(MemoryPlan, RefusesAProgramOnTwoDevices) {
  const Tensor here = ramp(4);
  const auto step = [&](std::span<const Tensor> in) {
    return std::vector{scale(in[0], 2), scale(here, 2)};
  };
  expect_error<DeviceError>([&] { make_plan(capture(step, std::vector{vec(4)})); },
                            "step: it works on cpu but an input has f32 [4] on null. "
                            "Keep a step on one device.");
}

}  // namespace
}  // namespace plimsoll
