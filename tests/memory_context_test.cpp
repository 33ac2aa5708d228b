// Reuse distances, and what an instruction costs by them.
#include "memory/context.h"

#include <cmath>

#include "core/cpu/caches.h"
#include "memory/dead_code.h"
#include "tests/memory_ops.h"

namespace plimsoll {
namespace {

using namespace memory_test;

TEST(MemoryContext, FarnessIsTheLogarithmOfTheBytesInBetween) {
  Recency recency(100, 1600);
  const Range watched{.begin = 1000, .bytes = 10};
  EXPECT_EQ(recency.farness(watched), 1);  // never touched
  recency.touch(watched);
  EXPECT_EQ(recency.farness(watched), 0);
  recency.touch({.begin = 0, .bytes = 100});
  EXPECT_EQ(recency.farness(watched), 0);  // as much as is near
  recency.touch({.begin = 100, .bytes = 100});
  EXPECT_DOUBLE_EQ(recency.farness(watched), 0.25);  // 2 of 16 times as much
  recency.touch({.begin = 0, .bytes = 200});
  EXPECT_DOUBLE_EQ(recency.farness(watched), 0.25);  // the same bytes again
  recency.touch({.begin = 200, .bytes = 200});
  EXPECT_DOUBLE_EQ(recency.farness(watched), 0.5);
  recency.touch({.begin = 2000, .bytes = 1200});
  EXPECT_EQ(recency.farness(watched), 1);
}

TEST(MemoryContext, FarnessIsTheMeanOfTheParts) {
  Recency recency(100, 1600);
  recency.touch({.begin = 0, .bytes = 40});
  recency.touch({.begin = 1000, .bytes = 390});
  recency.touch({.begin = 0, .bytes = 10});  // of the 40; the other 30 lie 400 further back
  EXPECT_DOUBLE_EQ(recency.farness({.begin = 0, .bytes = 40}), 0.5 * 30 / 40);
  EXPECT_EQ(recency.farness({.begin = 0, .bytes = 10}), 0);
  EXPECT_DOUBLE_EQ(recency.farness({.begin = 10, .bytes = 30}), 0.5);
  EXPECT_DOUBLE_EQ(recency.farness({.begin = 30, .bytes = 20}), 0.75);  // 10 were never touched
  recency.touch({.begin = 20, .bytes = 5});  // leaves both sides of it where they are
  EXPECT_EQ(recency.farness({.begin = 20, .bytes = 5}), 0);
  EXPECT_GT(recency.farness({.begin = 10, .bytes = 10}), 0.5);
  EXPECT_GT(recency.farness({.begin = 25, .bytes = 15}), 0.5);
  EXPECT_EQ(recency.farness({.space = 7, .begin = 10, .bytes = 10}), 1);  // not the arena's
  EXPECT_EQ(recency.farness({.begin = 10, .bytes = 0}), 0);
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
  const std::vector<Cost> costs{{1, 2, {1, 0, 0}}, {10, 20, {0, 10, 0}}, {100, 180, {0, 100, 0}}};
  // The input was left for two others, then comes what was written last; what the second writes lay
  // behind two; all that the third touches is near.
  const double part = std::log2(8192.0 / 6144);  // from near, 0, to twice as much, 1
  const std::vector<double> seconds = seconds_in_context(program, plan, costs, 6144);
  ASSERT_EQ(seconds.size(), 3u);
  EXPECT_DOUBLE_EQ(seconds[0], 1 + part);
  EXPECT_DOUBLE_EQ(seconds[1], 10 + 10 * part);
  EXPECT_EQ(seconds[2], 100);
  EXPECT_EQ(seconds_in_context(program, plan, costs, 4096), (std::vector{2.0, 20.0, 100.0}));
  EXPECT_EQ(seconds_in_context(program, plan, costs, 1), (std::vector{2.0, 20.0, 180.0}));
  EXPECT_EQ(seconds_in_context(program, plan, costs, 1 << 20), (std::vector{1.0, 10.0, 100.0}));
}

TEST(MemoryContext, NearIsSomeTimesWhatCoresHaveForThemselves) {
  EXPECT_GE(near_bytes(Device::cpu), cache_bytes());
  EXPECT_LE(near_bytes(Device::cpu), 4 * cache_bytes());
  if (shared_cache_bytes() > cache_bytes()) {
    EXPECT_LE(near_bytes(Device::cpu), shared_cache_bytes());
    EXPECT_GT(near_bytes(Device::cpu), cache_bytes());
  }
  EXPECT_EQ(near_bytes(Device::cuda), 0);
}

}  // namespace
}  // namespace plimsoll
