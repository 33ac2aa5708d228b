// Reuse distances, and what an instruction costs by them.
#include "memory/recompute/context.h"

#include <cmath>

#include "core/cpu/caches.h"
#include "memory/passes/dead_code.h"
#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

// Near up to 50 bytes, from the shared cache up to 100, and kept by it when used again within 1,000.
constexpr Reach kSmall{.own = 50, .shared = 100, .kept = 1000};

TEST(MemoryContext, DistanceIsTheLogarithmOfTheBytesInBetween) {
  Recency recency(kSmall);
  const Range watched{.begin = 10000, .bytes = 10};
  const auto far = [&] { return recency.distance(watched).far; };
  EXPECT_EQ(far(), 1);  // never touched
  EXPECT_EQ(recency.distance(watched).passing, 1);
  recency.touch(watched);
  EXPECT_EQ(far(), 0);
  recency.touch({.begin = 0, .bytes = 100});
  EXPECT_EQ(far(), 0);  // as much as is near
  recency.touch({.begin = 100, .bytes = 50});
  EXPECT_DOUBLE_EQ(far(), std::log2(1.5));
  recency.touch({.begin = 0, .bytes = 150});
  EXPECT_DOUBLE_EQ(far(), std::log2(1.5));  // the same bytes again
  recency.touch({.begin = 200, .bytes = 50});
  EXPECT_EQ(far(), 1);
  EXPECT_EQ(recency.distance(watched).passing, 0);
  recency.touch({.begin = 1000, .bytes = 1300});
  EXPECT_DOUBLE_EQ(recency.distance(watched).passing, std::log2(1.5));
  recency.touch({.begin = 3000, .bytes = 500});
  EXPECT_EQ(recency.distance(watched).passing, 1);
}

TEST(MemoryContext, DistanceIsTheMeanOfTheParts) {
  Recency recency(kSmall);
  const auto far = [&](const Range& range) { return recency.distance(range).far; };
  recency.touch({.begin = 0, .bytes = 40});
  recency.touch({.begin = 1000, .bytes = 140});
  recency.touch({.begin = 0, .bytes = 10});  // of the 40; the other 30 lie 150 further back
  const double part = std::log2(1.5);
  EXPECT_DOUBLE_EQ(far({.begin = 0, .bytes = 40}), part * 30 / 40);
  EXPECT_EQ(far({.begin = 0, .bytes = 10}), 0);
  EXPECT_DOUBLE_EQ(far({.begin = 10, .bytes = 30}), part);
  EXPECT_DOUBLE_EQ(far({.begin = 30, .bytes = 20}), (part + 1) / 2);  // 10 were never touched
  recency.touch({.begin = 20, .bytes = 5});  // leaves both sides of it where they are
  EXPECT_EQ(far({.begin = 20, .bytes = 5}), 0);
  EXPECT_GT(far({.begin = 10, .bytes = 10}), part);
  EXPECT_GT(far({.begin = 25, .bytes = 15}), part);
  EXPECT_EQ(far({.space = 7, .begin = 10, .bytes = 10}), 1);  // not the arena's
  EXPECT_EQ(far({.begin = 10, .bytes = 0}), 0);
}

TEST(MemoryContext, WhatCameFromMemoryOnceIsHeldByTheCoresAlone) {
  Recency recency(kSmall);
  const Range passing{.begin = 0, .bytes = 20}, kept{.begin = 1000, .bytes = 20};
  recency.touch(kept, 0);
  recency.touch(passing, 1);
  EXPECT_EQ(recency.distance(passing).far, 0);  // the cores still have it
  EXPECT_EQ(recency.distance(passing).passing, 1);
  recency.touch({.begin = 2000, .bytes = 55});
  EXPECT_DOUBLE_EQ(recency.distance(passing).far, std::log2(75.0 / 50));
  EXPECT_DOUBLE_EQ(recency.distance(passing).passing, 1 - std::log2(75.0 / 50));
  recency.touch({.begin = 3000, .bytes = 25});
  EXPECT_EQ(recency.distance(passing).far, 1);
  EXPECT_EQ(recency.distance(passing).passing, 0);  // now it comes a second time
  EXPECT_EQ(recency.distance(kept).far, 0);
  EXPECT_EQ(recency.distance(kept).passing, 0);
}

// Each use as the model of a step makes it: how far, and then it is touched.
TEST(MemoryContext, OnlyAUseThatTheCoresHaveLostTeachesTheSharedCache) {
  Recency recency(kSmall);
  const Range watched{.begin = 0, .bytes = 20}, others{.begin = 2000, .bytes = 80};
  const auto use = [&] {
    const Recency::Distance distance = recency.distance(watched);
    recency.touch(watched, distance.passing);
    return distance.far;
  };
  EXPECT_EQ(use(), 1);  // from memory
  EXPECT_EQ(use(), 0);  // from the cores
  recency.touch(others);
  EXPECT_EQ(use(), 1);  // from memory again, and now it is kept
  recency.touch(others);
  EXPECT_EQ(use(), 0);
  recency.touch({.begin = 5000, .bytes = 2000});
  EXPECT_EQ(use(), 1);  // too late: from the start
  recency.touch(others);
  EXPECT_EQ(use(), 1);
}

TEST(MemoryContext, PiecesKeepWhatIsKnownOfTheWhole) {
  Recency recency(kSmall);
  recency.touch({.begin = 4000, .bytes = 40}, 0.5);
  recency.touch({.begin = 4010, .bytes = 10}, 0);
  EXPECT_EQ(recency.distance({.begin = 4000, .bytes = 10}).far, 0);
  recency.touch({.begin = 5000, .bytes = 80}, 0.5);
  EXPECT_DOUBLE_EQ(recency.distance({.begin = 4000, .bytes = 10}).far, 0.5);
  EXPECT_EQ(recency.distance({.begin = 4010, .bytes = 10}).far, 0);
  // A large one loses its own beginning.
  EXPECT_DOUBLE_EQ(recency.distance({.begin = 5000, .bytes = 80}).far, 0.5 * std::log2(1.6));
}

// Three instructions through two places in the arena, again and again.
TEST(MemoryContext, InstructionsCostByTheirDistances) {
  const auto function = [](std::span<const Tensor> in) {
    return std::vector{flip(flip(flip(in[0])))};
  };
  const Metas metas{{{1024}, DType::f32, Device::null}};
  const Program program = remove_dead(capture(function, metas));
  const Plan plan = make_plan(program);
  ASSERT_EQ(plan.arena_bytes, 2 * 4096);
  // The first waits for what it reads, the others for where they write.
  const std::vector<Cost> costs{{1, 2, {1, 0, 0}}, {10, 20, {0, 10, 0}}, {100, 180, {30, 100, 0}}};
  // The input was left for two others, then comes what was written last; what the second writes lay
  // behind two; all that the third touches is near.
  const auto seconds = [&](int64_t shared) {
    return seconds_in_context(program, plan, costs, {.own = 1, .shared = shared, .kept = 1 << 20});
  };
  const double part = std::log2(8192.0 / 6144);  // from near, 0, to twice as much, 1
  const std::vector<double> partly = seconds(6144);
  ASSERT_EQ(partly.size(), 3u);
  EXPECT_DOUBLE_EQ(partly[0], 1 + part);
  EXPECT_DOUBLE_EQ(partly[1], 10 + 10 * part);
  EXPECT_EQ(partly[2], 100);
  EXPECT_EQ(seconds(4096), (std::vector{2.0, 20.0, 100.0}));
  EXPECT_EQ(seconds(1), (std::vector{2.0, 20.0, 180.0}));
  EXPECT_EQ(seconds(1 << 20), (std::vector{1.0, 10.0, 100.0}));
  // What the second wrote to memory the third finds far, where the cores do not hold it.
  const auto seconds_with = [&](int64_t own) {
    return seconds_in_context(program, plan, costs, {.own = own, .shared = 4096, .kept = 4096});
  };
  EXPECT_EQ(seconds_with(1), (std::vector{2.0, 20.0, 130.0}));
  EXPECT_EQ(seconds_with(4096), (std::vector{2.0, 20.0, 100.0}));

  // What the shared cache has counts by its bytes: half of each one's, the same as above.
  const std::vector<Cost> costs_there{{1, 9, {}, 4}, {10, 90, {}, 40}, {100, 900, {}, 400}};
  EXPECT_EQ(seconds_in_context(program, plan, costs_there,
                               {.own = 2048, .shared = 1 << 20, .kept = 1 << 20}),
            (std::vector{3.0, 30.0, 300.0}));
}

TEST(MemoryContext, ReachesAreSomeTimesWhatCoresHaveForThemselves) {
  const Reach on_cpu = reach(Device::cpu);
  const int64_t most = std::max(cache_bytes(), shared_cache_bytes());
  EXPECT_EQ(on_cpu.own, cache_bytes() / 4);
  EXPECT_EQ(on_cpu.shared, std::min(most, 16 * on_cpu.own));
  EXPECT_EQ(on_cpu.kept, std::min(most, 32 * on_cpu.own));
  EXPECT_EQ(reach(Device::cuda).shared, 0);
}

}  // namespace
}  // namespace plimsoll
