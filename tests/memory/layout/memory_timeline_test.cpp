// Timelines of random programs: they add up to what the plan says, and what lies in the arena never
// overlaps.
#include "memory/layout/memory_timeline.h"

#include "memory/passes/dead_code.h"
#include "memory/step/passes.h"
#include "memory/step/step.h"
#include "tests/support/memory_ops.h"
#include "tests/support/memory_random.h"

namespace plimsoll {
namespace {

using namespace memory_test;

int64_t sum(const BytesByClass& bytes) {
  int64_t total = 0;
  for (const int64_t b : bytes) total += b;
  return total;
}

void expect_consistent(const Program& program, const Plan& plan) {
  const MemoryTimeline timeline = make_timeline(program, plan);
  ASSERT_EQ(timeline.ops.size(), program.instructions.size() + 1);
  ASSERT_EQ(timeline.live.size(), timeline.ops.size());
  if (plan.peak_instruction >= 0) {
    EXPECT_EQ(timeline.live[plan.peak_instruction], plan.at_peak);
  }
  for (const BytesByClass& live : timeline.live)
    EXPECT_LE(sum(live), plan.lower_bound + plan.pinned_bytes + plan.input_bytes);
  const auto& all = timeline.rectangles;
  for (size_t a = 0; a < all.size(); ++a) {
    EXPECT_LT(all[a].begin, all[a].end);
    if (!all[a].in_arena()) continue;
    EXPECT_LE(all[a].offset + all[a].bytes, plan.arena_bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool apart = !all[b].in_arena() || all[a].end <= all[b].begin ||
                         all[b].end <= all[a].begin ||
                         all[a].offset + all[a].bytes <= all[b].offset ||
                         all[b].offset + all[b].bytes <= all[a].offset;
      EXPECT_TRUE(apart) << "buffers " << all[a].buffer << " and " << all[b].buffer;
    }
  }
}

Program random_program(uint32_t seed) {
  const MemoryScope scope(MemoryClass::parameter);
  std::vector<Tensor> state{Tensor::empty(vec(48)), Tensor::empty(vec(96))};
  return remove_dead(capture(RandomStep(seed, 5 + static_cast<int>(seed % 60), state),
                             std::vector{vec(96), vec(48)}));
}

TEST(MemoryTimeline, OfRandomProgramsAddsUpAndDoesNotOverlap) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed);
    expect_consistent(program, make_plan(program));
    ASSERT_FALSE(HasFailure());
  }
}

TEST(MemoryTimeline, OfProgramsThatComputeAgainAddsUpToo) {
  int repetitions = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const BudgetPlanner planner =
        budget_planner(random_program(seed), {.costs = CostModel::model, .search_seconds = 0.01});
    const PlannedProgram planned = planner.plan_within(planner.smallest());
    expect_consistent(planned.program, planned.plan);
    repetitions += planned.plan.recompute.repetitions;
  }
  EXPECT_GT(repetitions, 0);
}

TEST(MemoryTimeline, SaysWhatEachInstructionHoldsAndWhere) {
  Tensor weight;
  {
    const MemoryScope scope(MemoryClass::parameter);
    weight = Tensor::empty(vec(1024));
  }
  const Program program = capture(
      [&](std::span<const Tensor> in) {
        const Tensor sum = scan(plus(in[0], weight));
        return std::vector{rows(scale(sum, 2), 0, 16)};  // in place
      },
      std::vector{vec(1024)});
  const Plan plan = make_plan(program);
  const MemoryTimeline timeline = make_timeline(program, plan);
  EXPECT_EQ(std::vector<std::string>(timeline.ops.begin(), timeline.ops.end()),
            (std::vector<std::string>{"plus", "scan", "scale", "results"}));
  const int64_t arena[] = {4096, 4096 * 4, 4096, 4096};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(sum(timeline.live[i]), 4096 * 2 + arena[i]) << i;
  EXPECT_EQ(at(const_cast<BytesByClass&>(timeline.live[1]), MemoryClass::workspace), 8192);

  const std::vector<int> largest = largest_at(timeline, 1, 2);
  ASSERT_EQ(largest.size(), 2U);
  const Rectangle& scratch = timeline.rectangles[largest[0]];
  EXPECT_EQ(scratch.buffer, Rectangle::kScratch);
  EXPECT_EQ(scratch.bytes, 8192);
  EXPECT_EQ(largest_at(timeline, 3, 9).size(), 3U);  // parameter, input, result
  const Rectangle& result = timeline.rectangles[largest_at(timeline, 3, 9).back()];
  EXPECT_EQ(result.begin, 2);
  EXPECT_EQ(result.end, 4);
  EXPECT_EQ(result.meta, vec(1024));
}

TEST(MemoryTimeline, AStepHandsOutTheProgramOfItsPlan) {
  Step step([](const Tensor& x) { return plus(flip(x), x); });
  const Metas metas{vec(1024)};
  EXPECT_EQ(step.program(metas).instructions.size(), 2U);
  EXPECT_TRUE(make_plan(step.program(metas)) == step.plan(metas));
}

TEST(MemoryTimeline, OfNothingIsEmpty) {
  const Program program = capture([](auto) { return std::vector<Tensor>{}; }, {});
  const MemoryTimeline timeline = make_timeline(program, make_plan(program));
  EXPECT_TRUE(timeline.rectangles.empty());
  EXPECT_EQ(timeline.live.size(), 1U);
}

}  // namespace
}  // namespace plimsoll
