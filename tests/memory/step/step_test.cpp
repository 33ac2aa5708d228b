// Step: replay gives the bits of the function itself, in exactly the bytes that were planned.
#include "memory/step/step.h"

#include <chrono>
#include <thread>

#include "core/engine/trace.h"
#include "memory/passes/dead_code.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/replay.h"
#include "ops/ops.h"
#include "tests/support/memory_random.h"

namespace plimsoll {
namespace {

using namespace memory_test;
using Values = std::vector<std::vector<float>>;

Values values(const std::vector<Tensor>& tensors) {
  Values all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.to_vector<float>());
  return all;
}

// A pool whose blocks hold NaN when they are handed out and after they are given back.
class PoisonedPool : public Allocator {
 public:
  Device device() const override { return Device::cpu; }
  void* allocate(int64_t bytes, MemoryClass c, const char* op) override {
    void* data = pool.allocate(bytes, c, op);
    if (c == MemoryClass::arena) arena = {data, bytes};
    return fill(data, bytes);
  }
  void deallocate(void* data, int64_t bytes, MemoryClass c) noexcept override {
    pool.deallocate(fill(data, bytes), bytes, c);
  }
  void reclassify(int64_t bytes, MemoryClass from, MemoryClass to) noexcept override {
    pool.reclassify(bytes, from, to);
  }
  static void* fill(void* data, int64_t bytes) {
    if (data) std::memset(data, 0xff, static_cast<size_t>(bytes));
    return data;
  }
  PooledAllocator pool{host_provider()};
  std::pair<void*, int64_t> arena;
};

struct RandomCase {
  explicit RandomCase(uint32_t seed)
      : state{ramp(48, 1), ramp(96, -2)},
        inputs{ramp(96, 3), ramp(48, -1)},
        function(seed, 5 + static_cast<int>(seed % 60), state) {}
  std::vector<Tensor> state, inputs;
  RandomStep function;
};

TEST(MemoryStep, ReplaysTheBitsOfEager) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase eager(seed), captured(seed);
    const auto pool = std::make_shared<PoisonedPool>();
    const AllocatorScope scope(pool);
    Step step{StepFunction(captured.function)};
    for (int run = 0; run < 3; ++run) {  // the state moves on from run to run
      if (run > 0) PoisonedPool::fill(pool->arena.first, pool->arena.second);
      const Values expected = values(eager.function(eager.inputs));
      ASSERT_EQ(values(step.run(captured.inputs)), expected);
      ASSERT_EQ(values(captured.state), values(eager.state));
      eager.inputs[0] = captured.inputs[0] = ramp(96, static_cast<float>(run));
    }
  }
}

TEST(MemoryReplay, TimesEachInstructionOfARunThatLeavesTheSameState) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase eager(seed), timed(seed);
    const std::vector<Meta> metas{timed.inputs[0].meta(), timed.inputs[1].meta()};
    const Program program = remove_dead(capture(StepFunction(timed.function), metas));
    const Plan plan = make_plan(program);
    const auto arena = Storage::allocate(Device::cpu, plan.arena_bytes, MemoryClass::arena, "test");
    Replay replay(program, plan);
    replay.bind(arena->data());
    for (int run = 0; run < 3; ++run) {
      eager.function(eager.inputs);
      const std::vector<double> seconds = replay.seconds_of_each(timed.inputs);
      EXPECT_EQ(seconds.size(), program.instructions.size());
      ASSERT_EQ(values(timed.state), values(eager.state));
    }
  }
}

constexpr OpDef sleep_op{.name = "sleep", .infer = same_as_input, .cpu = [](const Call&) {
                           std::this_thread::sleep_for(std::chrono::milliseconds(5));
                         }};

TEST(MemoryReplay, TimesInstructionsByTheirNumber) {
  const Tensor nothing = Tensor::empty(vec(0, Device::cpu));
  const Program program = capture(
      [&](std::span<const Tensor> in) {
        return std::vector{flip(apply1(sleep_op, {flip(in[0])})), flip(nothing)};
      },
      Metas{vec(64, Device::cpu)});
  ASSERT_EQ(program.instructions.size(), 4u);
  const Plan plan = make_plan(program);
  const auto arena = Storage::allocate(Device::cpu, plan.arena_bytes, MemoryClass::arena, "test");
  Replay replay(program, plan);
  replay.bind(arena->data());
  std::vector<double> least(4, std::numeric_limits<double>::infinity());
  for (int run = 0; run < 10; ++run) {  // others on this machine may stop any of them for a while
    const std::vector<double> seconds = replay.seconds_of_each(std::array{ramp(64, 1)});
    for (size_t k = 0; k < 4; ++k) least[k] = std::min(least[k], seconds[k]);
  }
  EXPECT_GE(least[1], 0.005);
  for (const size_t k : {0, 2}) {
    EXPECT_GT(least[k], 0);
    EXPECT_LT(least[k], 0.005);
  }
  EXPECT_EQ(least[3], 0);
}

TEST(MemoryStep, PlannedIsMeasuredToTheByte) {
  for (const Device device : {Device::cpu, Device::null})
    for (uint32_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(seed);
      const auto pool = std::make_shared<PooledAllocator>(device == Device::cpu ? host_provider()
                                                                                : null_provider());
      const AllocatorScope scope(pool);
      // Only what the function uses is alive: the plan cannot know of anything else.
      const Tensor weight = Tensor::empty(vec(1000, device)), x = Tensor::empty(vec(1000, device));
      weight.write<float>(std::vector<float>(1000, 0.5f));
      x.write<float>(std::vector<float>(1000, 0.25f));
      Step step([&](const Tensor& in) {
        return RandomStep(seed, 40, {weight})(std::vector{plus(in, weight)});
      });
      const int64_t planned = step.plan(x).total_bytes();
      ASSERT_EQ(pool->stats().allocations, 2) << "planning allocates nothing";
      pool->reset_peak();
      for (int run = 0; run < 3; ++run) {
        step.run({x});
        ASSERT_EQ(pool->stats().peak.bytes, planned);
      }
      ASSERT_EQ(pool->stats().by_class[static_cast<size_t>(MemoryClass::arena)],
                block_bytes(step.plan(x).arena_bytes));
    }
}

TEST(MemoryStep, OneArenaServesAllPlans) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const auto first = [](const Tensor& x) { return rows(scan(flip(x)), 0, 1); };
  Step step(first);
  const Tensor small = ramp(10), large = ramp(1000);
  const int64_t inputs = pool->stats().in_use;
  const auto run = [&](const Tensor& x) { EXPECT_EQ(values({step(x)}), values({first(x)})); };
  for (int round = 0; round < 3; ++round) {
    run(small);
    EXPECT_EQ(pool->stats().in_use, inputs + step.plan(small).arena_bytes);
    const PeakScope region(*pool);
    step(large);  // the smaller arena goes before the larger one comes
    EXPECT_EQ(region.peak().bytes,
              step.plan(large).total_bytes() + block_bytes(small.value().storage->bytes()));
    run(large);
    EXPECT_EQ(pool->stats().in_use, inputs + step.plan(large).arena_bytes);
  }
  for (int64_t n = 1; n < 40; ++n) EXPECT_EQ(values({step(ramp(n))}), values({first(ramp(n))}));
  step.release_arena();
  EXPECT_EQ(pool->stats().in_use, inputs);
}

TEST(MemoryStep, VariantsAreProgramsOfTheirOwnInOneArena) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  int64_t which = 0;
  const auto function = [&](const Tensor& x) {
    return which == 0 ? rows(flip(x), 0, 1) : rows(plus(scan(flip(x)), flip(flip(x))), 0, 1);
  };
  Step step(function, {.variant = [&] { return which; }});
  const Tensor x = ramp(1000);
  const int64_t inputs = pool->stats().in_use, little = step.plan(x).arena_bytes;
  which = 1;
  const int64_t most = step.plan(x).arena_bytes;
  EXPECT_GT(most, little);
  for (int round = 0; round < 6; ++round) {
    which = round % 2;
    EXPECT_EQ(values({step(x)}), values({function(x)}));
    EXPECT_EQ(pool->stats().in_use, inputs + most);
  }
}

TEST(MemoryStep, FollowsTheCurrentAllocator) {
  Step step([](const Tensor& x) { return flip(flip(x)); });
  const Tensor x = ramp(100);
  for (int k = 0; k < 2; ++k) {
    const auto pool = std::make_shared<PooledAllocator>(host_provider());
    const AllocatorScope scope(pool);
    EXPECT_EQ(values({step(x)}), values({x}));
    EXPECT_GT(pool->stats().by_class[static_cast<size_t>(MemoryClass::arena)], 0);
  }
}

TEST(MemoryStep, ForgetsTheAddressesOfAnArenaItGaveBack) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Step step([](const Tensor& x) { return flip(flip(x)); });
  const Tensor x = ramp(1000);
  step(x);
  step.release_arena();
  std::vector<Tensor> squatters;  // one of them lies where the arena was
  for (int k = 0; k < 8; ++k) squatters.push_back(ramp(1000, 5));
  EXPECT_EQ(values({step(x)}), values({x}));
  for (const Tensor& squatter : squatters) EXPECT_EQ(values({squatter}), values({ramp(1000, 5)}));
}

TEST(MemoryStep, ResultsAreFresh) {
  Step step([](const Tensor& x, const Tensor& y) {
    return std::vector{plus(x, y), x, rows(y, 1, 3)};
  });
  const Tensor x = ramp(4), y = ramp(4, 10);
  const auto first = step.run({x, y});
  const Values before = values(first);
  const auto second = step.run({y, x});
  EXPECT_EQ(values(first), before);
  EXPECT_NE(first[0].data<float>(), second[0].data<float>());
  EXPECT_NE(first[1].data<float>(), x.data<float>());
  EXPECT_EQ(values({second[2]}), values({rows(x, 1, 3)}));
}

TEST(MemoryStep, InputsMayLookIntoTheMiddleOfAStorage) {
  Step step([](const Tensor& x) { return flip(rows(x, 1, 3)); });
  const Tensor all = ramp(16);
  for (int64_t k = 0; k < 12; ++k)
    EXPECT_EQ(values({step(rows(all, k, k + 4))}), values({flip(rows(all, k + 1, k + 3))}));
}

TEST(MemoryStep, EmptyTensorsAndNoInputs) {
  Step empty([](const Tensor& x) { return scan(plus(x, x)); });
  EXPECT_EQ(empty(ramp(0)).count(), 0);
  EXPECT_EQ(empty.plan(ramp(0)).total_bytes(), 0);
  const Tensor weight = ramp(3);
  Step constant([&] { return scale(weight, 2); });
  EXPECT_EQ(values({constant()}), values({scale(weight, 2)}));
}

TEST(MemoryStep, WritesBumpTheVersionOfWhatTheyWrite) {
  const Tensor total = ramp(4), other = ramp(4);
  Step step([&](const Tensor& sum, const Tensor& x) {
    add_to(total, plus(x, other));
    add_to(sum, x);
    return x;
  });
  const Tensor sum = ramp(4), x = ramp(4);
  for (int run = 0; run < 2; ++run) step(sum, x);  // captured twice: that counts as well
  const auto version = [](const Tensor& t) { return t.value().storage->version(); };
  const uint32_t before[] = {version(total), version(sum), version(x), version(other)};
  step.run({sum, x});
  EXPECT_GT(version(total), before[0]);
  EXPECT_GT(version(sum), before[1]);
  EXPECT_EQ(version(x), before[2]);
  EXPECT_EQ(version(other), before[3]);
}

TEST(MemoryStep, CheckingForNaNLeavesTheNullDeviceAlone) {
  const ApplyModeScope scope({.check_finite = true});
  Step step([](const Tensor& x) { return flip(x); });
  const Tensor x = Tensor::empty(vec(4));
  EXPECT_EQ(step(x).meta(), vec(4));
  EXPECT_EQ(flip(x).meta(), vec(4));  // eager as well
}

TEST(MemoryStep, NothingLeaks) {
  const int64_t before = Storage::live();
  {
    RandomCase c(7);
    Step step{StepFunction(c.function)};
    for (int run = 0; run < 5; ++run) step.run(c.inputs);
    Step moved = std::move(step);
    moved.run(c.inputs);
  }
  EXPECT_EQ(Storage::live(), before);
}

// As ranks do that begin to share parameters out.
TEST(MemoryStep, FollowsAParameterThatMoves) {
  const Tensor w = Tensor::of<float>({2, 3}, {2}), x = ones({2}), whole = zeros({2});
  Step step([&](const Tensor& in) { return in * w; });
  EXPECT_EQ(step(x).to_vector<float>(), (std::vector<float>{2, 3}));
  w.value().storage->become_part_of(whole.value().storage);
  w.write<float>(std::vector<float>{5, 7});
  EXPECT_EQ(step(x).to_vector<float>(), (std::vector<float>{5, 7}));
  w.value().storage->become_part_of(nullptr);  // nobody has it as a whole
  EXPECT_THROW(x * w, StateError);
  EXPECT_THROW(step(x), StateError);
}

}  // namespace
}  // namespace plimsoll
