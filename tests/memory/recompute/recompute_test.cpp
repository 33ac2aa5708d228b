// Recompute: plans for random problems and random programs, checked by a referee that follows the
// schedule knowing nothing of how it was made, and by all choices where they can be counted.
#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

#include "memory/layout/plan.h"
#include "memory/passes/dead_code.h"
#include "memory/recompute/certificate.h"
#include "memory/recompute/costs.h"
#include "memory/recompute/program.h"
#include "memory/recompute/search.h"
#include "tests/support/memory_checker.h"
#include "tests/support/memory_random.h"

namespace plimsoll {
namespace {

using namespace memory_test;
using namespace recompute;

std::vector<double> modelled(const Program& program) {
  std::vector<double> seconds;
  for (const Instruction& instruction : program.instructions)
    seconds.push_back(modelled_seconds(instruction));
  return seconds;
}

// A forward chain with skips, then a backward pass that reads it in reverse: every op's gradient
// needs the gradient after it and the op's own input. Costs and sizes are drawn.
Problem random_problem(uint32_t seed, int layers) {
  std::mt19937 random(seed);
  Problem problem;
  const auto storage = [&] {
    problem.storages.push_back({.bytes = static_cast<int64_t>(1 + random() % 9) * 64});
    return static_cast<int>(problem.storages.size()) - 1;
  };
  const auto cost = [&] { return static_cast<double>(1 + random() % 20); };
  std::vector<int> values{storage()};
  problem.ops.push_back({.cost = cost(), .writes = {values[0]}});
  for (int i = 1; i < layers; ++i) {
    Op op{.cost = cost(), .workspace = static_cast<int64_t>(random() % 3) * 64};
    op.reads.push_back(values.back());
    if (i > 2 && random() % 3 == 0) op.reads.push_back(values[random() % (values.size() - 1)]);
    op.writes.push_back(storage());
    if (random() % 4 == 0) op.writes.push_back(storage());  // a second output, mostly unused
    if (random() % 3 == 0) {
      problem.storages[op.writes[0]].bytes = problem.storages[op.reads[0]].bytes;
      op.takes_over = op.reads[0];
    }
    values.push_back(op.writes[0]);
    problem.ops.push_back(std::move(op));
  }
  int gradient = storage();
  problem.ops.push_back({.cost = cost(), .reads = {values.back()}, .writes = {gradient}});
  for (int i = layers - 1; i > 0; --i) {
    Op op{.cost = cost(), .reads = {gradient}};
    if (random() % 8) op.reads.push_back(values[i - 1]);
    gradient = storage();
    op.writes = {gradient};
    problem.ops.push_back(std::move(op));
  }
  problem.ops.push_back({.reads = {gradient}, .repeatable_before = 0});
  // Something that an op reads changes later, or the op writes in place itself; now and then what
  // is made is changed after it was made.
  for (Op& op : problem.ops)
    if (random() % 5 == 0)
      op.repeatable_before = static_cast<int>(random() % (2 * problem.ops.size()));
  for (auto& s : problem.storages) s.evictable = random() % 12 > 0;
  return problem;
}

// Follows a schedule: which copy of a storage each run reads, from when to when each copy is
// needed, and how many bytes that takes at most.
struct Refereed {
  int64_t peak = 0;
  double cost = 0;
};
Refereed referee(const Problem& problem, const Schedule& schedule) {
  struct Copy {
    int storage, begin, end;
  };
  std::vector<Copy> copies;
  std::vector<int> current(problem.storages.size(), -1);
  std::vector<std::vector<int>> read(schedule.size()), written(schedule.size());
  Refereed result;
  int next = 0;  // first executions come in order
  for (int r = 0; r < static_cast<int>(schedule.size()); ++r) {
    const Op& op = problem.ops[schedule[r].op];
    if (schedule[r].again) {
      EXPECT_LT(schedule[r].op, next);
      EXPECT_LE(next, op.repeatable_before);
      result.cost += op.cost;
    } else {
      EXPECT_EQ(schedule[r].op, next++);
    }
    for (const int storage : op.reads) {
      const int copy = current[storage];
      EXPECT_GE(copy, 0) << "op " << schedule[r].op << " reads what was never made";
      if (copy < 0) return result;
      copies[copy].end = r + 1;
      read[r].push_back(copy);
    }
    for (const int storage : op.writes) {
      written[r].push_back(static_cast<int>(copies.size()));
      copies.push_back({storage, r, r + 1});
      if (!std::ranges::count(schedule[r].made, storage)) continue;
      current[storage] = written[r].back();
      // What was written to later is not what its maker makes.
      EXPECT_TRUE(!schedule[r].again || problem.storages[storage].evictable);
    }
  }
  EXPECT_EQ(next, static_cast<int>(problem.ops.size()));
  for (int r = 0; r < static_cast<int>(schedule.size()); ++r) {
    const Op& op = problem.ops[schedule[r].op];
    int64_t alive = op.workspace;
    for (const Copy& copy : copies)
      if (copy.begin <= r && r < copy.end) alive += problem.storages[copy.storage].bytes;
    for (const int copy : read[r])
      if (copies[copy].storage == op.takes_over && copies[copy].end == r + 1)
        alive -= problem.storages[op.takes_over].bytes;
    result.peak = std::max(result.peak, alive);
  }
  return result;
}

// Some gaps evicted and some that were evicted kept, at random; what the simulator says of it is
// what the referee says. Returns the timeline of the last plan that was possible.
Timeline check_random_plans(const Timeline& timeline, std::mt19937& random, int& checked) {
  Simulator simulator(timeline);
  Timeline next = timeline;
  for (unsigned k = 0; k < 10; ++k) {
    Choices choices = as_planned(timeline);
    for (int gap = 0; gap < timeline.gaps(); ++gap) {
      if (choices[gap] != Choice::keep && random() % 4 == 0) choices[gap] = Choice::keep;
      if (timeline.can_evict(gap) && random() % 10 < k)
        choices[gap] = random() % 4 ? Choice::recompute : Choice::recompute_each;
    }
    const Outcome outcome = simulator.run(choices);
    if (!outcome.possible) continue;
    const auto [peak, cost] = std::pair(outcome.peak, outcome.cost);
    EXPECT_TRUE(simulator.run(choices, {.peak = peak, .cost = cost}).possible);
    EXPECT_FALSE(simulator.run(choices, {.peak = peak - 1}).possible);
    EXPECT_EQ(simulator.run(choices, {.cost = 0.99 * cost}).possible, cost == 0);
    const Refereed found = referee(timeline.problem(), simulator.schedule(choices));
    EXPECT_TRUE(timeline.repeats() ? peak >= found.peak : peak == found.peak)
        << peak << " " << found.peak;
    EXPECT_DOUBLE_EQ(cost, found.cost);
    const Point point = *point_of(std::make_shared<Timeline>(timeline), choices);
    const Refereed needed = referee(timeline.problem(), schedule(point));
    EXPECT_EQ(point.peak, needed.peak);
    EXPECT_DOUBLE_EQ(point.cost, needed.cost);
    EXPECT_LE(point.cost, cost);
    next = *timeline_of(point);
    ++checked;
  }
  return next;
}

TEST(MemoryRecompute, TheSimulatorCountsWhatTheScheduleTakes) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Timeline timeline(random_problem(seed, 3 + static_cast<int>(seed % 30)));
    std::mt19937 random(seed);
    for (int k = 0; k < 4; ++k) {  // in the timeline of a plan of a plan too
      timeline = check_random_plans(timeline, random, checked);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(checked, 2000);
}

TEST(MemoryRecompute, TheTimelineOfAPlanGivesThePlan) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, 5 + static_cast<int>(seed % 30));
    for (const Point& point : descend(problem, {.effort = 100'000}).points) {
      const SharedTimeline timeline = timeline_of(point);
      const Outcome outcome = Simulator(*timeline).run(as_planned(*timeline));
      const Refereed found = referee(problem, schedule(point));
      EXPECT_EQ(outcome.peak, found.peak);
      EXPECT_DOUBLE_EQ(outcome.cost, found.cost);
    }
  }
}

// s is made and then changed; y is made of what it is now. Without y, s must stay behind its last
// use.
TEST(MemoryRecompute, WhatChangedIsNeverMadeAgain) {
  Problem problem;
  problem.storages = {
      {.bytes = 10, .evictable = false}, {.bytes = 100}, {.bytes = 1}, {.bytes = 1}};
  problem.ops = {{.cost = 1, .writes = {0}},
                 {.cost = 1, .reads = {0}, .repeatable_before = 0},
                 {.cost = 1, .reads = {0}, .writes = {1}},
                 {.cost = 1, .workspace = 1000, .writes = {2}},
                 {.cost = 1, .reads = {1, 2}, .writes = {3}},
                 {.reads = {3}, .repeatable_before = 0}};
  const Timeline timeline(problem);
  Choices choices = as_planned(timeline);
  choices[timeline.first_gap[1]] = Choice::recompute;
  EXPECT_FALSE(Simulator(timeline).run(choices).possible);
  const Point plan = search_at(1011, problem, {.effort = 100'000}).front();
  EXPECT_EQ(plan.peak, 1011);
  EXPECT_EQ(plan.cost, 1);
  EXPECT_EQ(referee(problem, schedule(plan)).peak, 1011);
}

TEST(MemoryRecompute, MoreMemoryNeverCostsMoreAndNoPlanBeatsTheCertificate) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, 5 + static_cast<int>(seed));
    Frontier frontier = descend(problem, {.effort = 300'000}).points;
    for (const int64_t part : {1, 2, 3}) {
      const int64_t low = frontier.front().peak, high = frontier.back().peak;
      frontier = improve_at(low + (high - low) / 4 * part, problem, {.effort = 100'000}, frontier);
    }
    const Timeline timeline(problem);
    EXPECT_EQ(frontier.back().cost, 0);
    for (size_t p = 0; p < frontier.size(); ++p) {
      const Refereed found = referee(problem, schedule(frontier[p]));
      EXPECT_EQ(found.peak, frontier[p].peak);
      EXPECT_DOUBLE_EQ(found.cost, frontier[p].cost);
      if (p > 0) {
        EXPECT_GT(frontier[p].peak, frontier[p - 1].peak);
        EXPECT_LT(frontier[p].cost, frontier[p - 1].cost);
      }
      EXPECT_LE(certify(timeline, frontier[p].peak).least_added_cost,
                frontier[p].cost * (1 + 1e-12));
    }
    EXPECT_GT(frontier.size(), 1u);
  }
}

// The least cost of any plan within a budget, whatever it runs when: a shortest path (Dijkstra)
// through all sets of storages that can be there before each op. Infinity: there is none.
double least_cost(const Problem& problem, int64_t budget) {
  const auto ops = static_cast<unsigned>(problem.ops.size());
  const auto sets = 1U << problem.storages.size();
  const auto mask = [](const std::vector<int>& storages) {
    unsigned all = 0;
    for (const int storage : storages) all |= 1U << storage;
    return all;
  };
  std::vector<int64_t> bytes(sets);
  for (unsigned set = 1; set < sets; ++set)
    bytes[set] =
        bytes[set & (set - 1)] + problem.storages[static_cast<size_t>(std::countr_zero(set))].bytes;
  unsigned evictable = 0;
  for (size_t s = 0; s < problem.storages.size(); ++s)
    evictable |= static_cast<unsigned>(problem.storages[s].evictable) << s;
  std::vector<double> least((ops + 1) * sets, std::numeric_limits<double>::infinity());
  std::priority_queue<std::pair<double, unsigned>, std::vector<std::pair<double, unsigned>>,
                      std::greater<>>
      open;
  const auto reach = [&](unsigned next, unsigned set, double cost) {
    if (cost >= least[next * sets + set]) return;
    least[next * sets + set] = cost;
    open.emplace(cost, next * sets + set);
  };
  reach(0, 0, 0);
  while (!open.empty()) {
    const auto [cost, state] = open.top();
    open.pop();
    const unsigned next = state / sets, set = state % sets;
    if (cost > least[state]) continue;
    if (next == ops) return cost;
    for (unsigned s = 1; s < sets; s *= 2)
      if (set & s) reach(next, set & ~s, cost);  // freed
    for (unsigned i = 0; i <= next; ++i) {
      const Op& op = problem.ops[i];
      const bool again = i < next;
      const unsigned writes = mask(op.writes), reads = mask(op.reads);
      if ((set & reads) != reads || (again && static_cast<int>(next) > op.repeatable_before))
        continue;
      const unsigned made = again ? writes & evictable : writes;
      const int64_t takes = bytes[set] + bytes[writes] + op.workspace;
      if (takes <= budget) reach(next + !again, set | made, cost + (again ? op.cost : 0));
      if (op.takes_over < 0) continue;
      const unsigned taken = 1U << op.takes_over;
      if (takes - bytes[taken] <= budget)
        reach(next + !again, (set & ~taken) | made, cost + (again ? op.cost : 0));
    }
  }
  return std::numeric_limits<double>::infinity();
}

TEST(MemoryRecompute, TheSearchFindsTheBestPlansOfSmallProblems) {
  int points = 0, best = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, 3 + static_cast<int>(seed % 3));
    const Timeline timeline(problem);
    const Frontier frontier = descend(problem, {.effort = 2'000'000}).points;
    EXPECT_EQ(least_cost(problem, frontier.front().peak - 1),
              std::numeric_limits<double>::infinity());
    for (const Point& point : frontier) {
      const double least = least_cost(problem, point.peak);
      EXPECT_LE(certify(timeline, point.peak).least_added_cost, least * (1 + 1e-12));
      const Frontier found = improve_at(point.peak, problem, {.effort = 200'000}, frontier);
      ++points;
      best += cheapest_within(found, point.peak)->cost <= least;
      EXPECT_GE(cheapest_within(found, point.peak)->cost, least);
    }
  }
  EXPECT_GT(points, 60);
  EXPECT_GE(best, points * 97 / 100) << "of " << points;
}

TEST(MemoryRecompute, ProblemsWithoutADecisionAreSolved) {
  Problem none, alone, empty;
  alone.storages.push_back({.bytes = 64});
  alone.ops.push_back({.cost = 1, .writes = {0}});
  empty.ops.push_back({.cost = 1});
  for (const auto& [problem, peak] : {std::pair(none, 0), {alone, 64}, {empty, 0}}) {
    const Frontier found = search_at(0, problem);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].peak, peak);
    EXPECT_EQ(descend_from(found, problem).points[0].peak, peak);
  }
}

TEST(MemoryRecompute, ADescentFromPlansTakesItsEffortAndNoMore) {
  const Problem problem = random_problem(1, 60);
  const Frontier some = descend(problem, {.effort = 100'000}).points;
  Frontier starts;
  while (starts.size() < 200) starts.insert(starts.end(), some.begin(), some.end());
  const Descent lowest = descend_from(starts, problem, {.effort = 1'000'000});
  EXPECT_LE(lowest.points[0].peak, some[0].peak);
  EXPECT_LE(lowest.effort_left, 0);
  EXPECT_GT(lowest.effort_left, -100'000);  // to look at the last plan
}

// A chain of n equal ops and its backward pass: with segments of sqrt(n) it takes about 2 sqrt(n)
// buffers and runs each op once more (Chen et al., 2016).
TEST(MemoryRecompute, AChainTakesTheSquareRootForOneMoreForwardPass) {
  constexpr int kLayers = 100;
  Problem problem;
  problem.storages.assign(2 * kLayers, {.bytes = 64});
  problem.ops.push_back({.cost = 1, .writes = {0}});
  for (int i = 1; i < kLayers; ++i)
    problem.ops.push_back({.cost = 1, .reads = {i - 1}, .writes = {i}});
  problem.ops.push_back({.cost = 1, .reads = {kLayers - 1}, .writes = {kLayers}});
  for (int i = 1; i < kLayers; ++i)
    problem.ops.push_back(
        {.cost = 1, .reads = {kLayers + i - 1, kLayers - 1 - i}, .writes = {kLayers + i}});
  problem.ops.push_back({.reads = {2 * kLayers - 1}, .repeatable_before = 0});
  const Frontier frontier = search_at(64 * 22, problem, {.effort = 5'000'000});
  bool found = false;
  for (const Point& point : frontier)
    found = found || (point.peak <= 64 * 22 && point.cost <= kLayers);
  EXPECT_TRUE(found);
  EXPECT_LT(frontier.front().peak, 64 * 16);
}

TEST(MemoryRecompute, ARewrittenProgramGivesTheSameBitsInThePlannedBytes) {
  int repeated = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Tensor> state{ramp(48, 1), ramp(96, -2)};
    const RandomStep step(seed, 10 + static_cast<int>(seed), state);
    const std::vector inputs{ramp(96, 3), ramp(48, -1)};
    const Program program =
        remove_dead(capture(step, std::vector{inputs[0].meta(), inputs[1].meta()}));
    const Problem problem = problem_of(program, modelled(program));
    std::vector<std::vector<float>> expected;
    for (const Point& point : descend(problem, {.effort = 100'000}).points) {
      const Program rewritten = rewrite(program, schedule(point));
      const Plan plan = make_plan(rewritten);
      EXPECT_EQ(plan.lower_bound, point.peak);
      repeated += rewritten.instructions.size() > program.instructions.size();
      state[0].write(std::span<const float>(ramp(48, 1).to_vector<float>()));
      state[1].write(std::span<const float>(ramp(96, -2).to_vector<float>()));
      Checker checker(rewritten, plan);
      auto results = checker.run(inputs);
      for (const Tensor& s : state) results.push_back(s.to_vector<float>());
      ASSERT_FALSE(HasFailure());
      if (expected.empty()) expected = results;
      ASSERT_EQ(results, expected);
    }
  }
  EXPECT_GT(repeated, 50);
}

}  // namespace
}  // namespace plimsoll
