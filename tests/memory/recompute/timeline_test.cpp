// Timelines of plans: what is let go where nothing runs again any more. And a search that races in
// such timelines, on any number of threads.
#include "memory/recompute/timeline.h"

#include <gtest/gtest.h>

#include <random>

#include "core/cpu/threads.h"
#include "memory/recompute/search.h"

namespace plimsoll::recompute {
namespace {

TEST(MemoryTimelineOfAPlan, NothingIsHeldForWhatRunsNoMore) {
  Problem problem{.ops = {{.cost = 1, .writes = {0}},
                          {.cost = 2, .reads = {0}, .writes = {1}},
                          {.cost = 4, .reads = {1}, .writes = {2}},
                          {.cost = 8},
                          {.cost = 16, .reads = {2}}},
                  .storages = {{.bytes = 64}, {.bytes = 64}, {.bytes = 64}}};
  const Timeline step(problem);
  const Schedule again{{.op = 0, .again = true, .made = {0}},
                       {.op = 1, .again = true, .made = {1}},
                       {.op = 2, .again = true, .made = {2}}};
  Schedule plan = step.plan;
  plan.insert(plan.end() - 1, again.begin(), again.end());
  const Timeline timeline(step, plan);
  Choices choices = as_planned(timeline);
  EXPECT_EQ(for_use(timeline, choices), choices);
  EXPECT_EQ(Simulator(timeline).run(choices).cost, 1 + 2 + 4);

  choices[timeline.first_gap[2]] = Choice::keep;  // its operands are made and held all the same
  EXPECT_EQ(Simulator(timeline).run(choices).cost, 1 + 2);
  choices = for_use(timeline, std::move(choices));
  EXPECT_EQ(Simulator(timeline).run(choices).cost, 0);
  EXPECT_EQ(for_use(timeline, choices), choices);
}

// A chain, and a pass back that reads it in reverse.
Problem chain(int layers) {
  std::mt19937 random(7);
  Problem problem;
  for (int i = 0; i < 2 * layers; ++i) {
    Op op{.cost = static_cast<double>(1 + random() % 20), .writes = {i}};
    if (i > 0) op.reads.push_back(i - 1);
    if (i > layers) op.reads.push_back(2 * layers - 1 - i);
    problem.ops.push_back(std::move(op));
    problem.storages.push_back({.bytes = static_cast<int64_t>(1 + random() % 9) * 64});
  }
  return problem;
}

TEST(MemorySearch, FindsTheSameOnAnyNumberOfThreads) {
  const Problem problem = chain(60);
  const Timeline step(problem);
  const int64_t peak = Simulator(step).run(as_planned(step)).peak * 3 / 10;
  const int before = num_threads();
  std::vector<Frontier> found;
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    found.push_back(search_at(peak, problem, {.effort = 4'000'000}));
  }
  set_num_threads(before);
  EXPECT_TRUE(cheapest_within(found[0], peak)->timeline->repeats()) << "nothing raced";
  for (const Frontier& other : found) {
    ASSERT_EQ(other.size(), found[0].size());
    for (size_t k = 0; k < other.size(); ++k) {
      EXPECT_EQ(other[k].peak, found[0][k].peak);
      EXPECT_EQ(other[k].cost, found[0][k].cost);
      EXPECT_EQ(other[k].choices, found[0][k].choices);
    }
  }
}

}  // namespace
}  // namespace plimsoll::recompute
