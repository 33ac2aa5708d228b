// What no plan of recompute is below, and the minimum cuts that it is made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/recompute/certificate.h"
#include "memory/recompute/min_cut.h"
#include "memory/recompute/search.h"

namespace plimsoll::recompute {
namespace {

// The cheapest plan within a budget, by the search.
double found(const Timeline& timeline, int64_t budget) {
  const Frontier plans = search_at(budget, timeline.problem(), {.effort = 1'000'000});
  const Point* least = cheapest_within(plans, budget);
  return least ? least->cost : std::numeric_limits<double>::infinity();
}

double bound(const Timeline& timeline, int64_t budget) {
  return certify(timeline, budget).least_added_cost;
}

// Four parts of 64 bytes, dear to make, are put together once as 512 bytes, which the gradient
// reads. Between them an op needs 1,000 bytes for itself and one of 64, as a large layer does.
Problem parts_and_whole() {
  Problem problem;
  for (int part = 0; part < 4; ++part) {
    problem.storages.push_back({.bytes = 64});
    problem.ops.push_back({.cost = 10, .writes = {part}});
  }
  problem.storages.push_back({.bytes = 512});
  problem.ops.push_back({.cost = 1, .reads = {0, 1, 2, 3}, .writes = {4}});
  problem.storages.push_back({.bytes = 64});
  problem.ops.push_back({.cost = 5, .reads = {4}, .writes = {5}});
  problem.storages.push_back({.bytes = 64});
  problem.ops.push_back({.cost = 7, .workspace = 1000, .reads = {5}, .writes = {6}});
  problem.storages.push_back({.bytes = 64});
  problem.ops.push_back({.cost = 3, .reads = {6, 4}, .writes = {7}});
  problem.ops.push_back({.reads = {7}, .repeatable_before = 0});
  return problem;
}

TEST(MemoryCertificate, PartsThatNobodyReadsStayWhereTheWholeIsMadeAgain) {
  const Timeline timeline(parts_and_whole());
  const int64_t alone = 1000 + 2 * 64;  // of the large op
  EXPECT_EQ(Simulator(timeline).run(as_planned(timeline)).peak, alone + 512);
  // With room for the parts the whole is put together again.
  EXPECT_EQ(found(timeline, alone + 4 * 64), 1);
  EXPECT_NEAR(bound(timeline, alone + 511), 1 / 256.0, 1e-9);  // a fraction of it is enough
  EXPECT_NEAR(bound(timeline, alone + 4 * 64), 1, 1e-9);
  // Each part that has no room is made again too.
  for (int missing = 1; missing <= 4; ++missing) {
    const int64_t budget = alone + (4 - missing) * 64;
    EXPECT_EQ(found(timeline, budget), 1 + 10 * missing);
    EXPECT_NEAR(bound(timeline, budget), 1 + 10 * missing, 1e-9);
  }
  EXPECT_EQ(bound(timeline, alone - 1), std::numeric_limits<double>::infinity());
}

TEST(MemoryCertificate, NamesTheMomentAndWhatRunsAgain) {
  const Timeline timeline(parts_and_whole());
  const int64_t budget = 1000 + 2 * 64;
  const Certificate certificate = certify(timeline, budget);
  EXPECT_EQ(certificate.moment, 6);
  EXPECT_EQ(certificate.again, (std::vector<char>{1, 1, 1, 1, 1, 0, 0, 0, 0}));
  const Timeline plan(timeline, schedule_of(certificate, timeline.problem()));
  const Outcome outcome = Simulator(plan).run(as_planned(plan));
  EXPECT_EQ(outcome.peak, budget);
  EXPECT_EQ(outcome.cost, 41);
  EXPECT_EQ(certify(timeline, int64_t{1} << 20).moment, -1);  // all has room
}

// What is written to later can only be kept, and so can what is made of something that changes.
TEST(MemoryCertificate, WhatCannotRunAgainIsKept) {
  for (const bool written : {false, true}) {
    Problem problem = parts_and_whole();
    if (written)
      problem.storages[4].evictable = false;
    else
      problem.ops[4].repeatable_before = 6;
    const Timeline timeline(problem);
    EXPECT_EQ(bound(timeline, 1000 + 2 * 64 + 511), std::numeric_limits<double>::infinity());
    EXPECT_EQ(bound(timeline, 1000 + 2 * 64 + 512), 0);
  }
}

// Storages of up to 2^58 bytes beside one of a byte, which alone can be made again: rounding never
// lifts the bound above the plan.
TEST(MemoryCertificate, IsNoHigherThanAPlanWhateverTheSizes) {
  for (const int bits : {30, 40, 50, 58})
    for (const double cost : {0.1, 0.7, 1.1, 3.3}) {
      const int64_t large = int64_t{1} << bits;
      Problem problem;
      problem.storages = {{.bytes = large}, {.bytes = 1}, {.bytes = 1}};
      problem.ops = {{.cost = 1, .writes = {0}, .repeatable_before = 0},
                     {.cost = cost, .writes = {1}},
                     {.cost = 1, .workspace = 10},
                     {.cost = 1, .reads = {0, 1}, .writes = {2}},
                     {.reads = {2}, .repeatable_before = 0}};
      const Timeline timeline(problem);
      EXPECT_EQ(found(timeline, large + 10), cost);
      EXPECT_LE(bound(timeline, large + 10), cost);
      EXPECT_GE(bound(timeline, large + 10), bits < 58 ? 0.99 * cost : 0);
      EXPECT_EQ(bound(timeline, large + 9), std::numeric_limits<double>::infinity());
      EXPECT_EQ(bound(timeline, -1), std::numeric_limits<double>::infinity());
    }
}

// A chain of which all but the last value is gone: cuts look at it again and again.
TEST(MemoryCertificate, EndsWhenItsEffortIsSpent) {
  constexpr int kOps = 20'000;
  Problem problem;
  for (int i = 0; i < kOps; ++i) {
    problem.storages.push_back({.bytes = 64});
    problem.ops.push_back({.cost = 1, .writes = {i}});
    if (i > 0) problem.ops.back().reads = {i - 1};
  }
  problem.ops.push_back({.cost = 1, .workspace = 1000});
  problem.ops.push_back({.reads = {kOps - 1}, .repeatable_before = 0});
  const Certificate certificate = certify(Timeline(problem), 1000, 2'000'000);
  EXPECT_LE(certificate.looked_at, 4'000'000);
  EXPECT_LE(certificate.least_added_cost, kOps);
}

// All sides that the inner nodes can be on, counted through.
TEST(MemoryCertificate, MinimumCutsOfRandomGraphs) {
  std::mt19937 random(0);
  for (int k = 0; k < 500; ++k) {
    const int nodes = 2 + static_cast<int>(random() % 7);
    struct Edge {
      int from, to;
      int64_t capacity;
    };
    std::vector<Edge> edges;
    MinCut graph(nodes);
    for (unsigned e = 0; e < random() % 30; ++e) {
      const auto node = [&] { return static_cast<int>(random() % static_cast<unsigned>(nodes)); };
      edges.push_back({node(), node(), static_cast<int64_t>(random() % 9)});
      graph.add(edges.back().from, edges.back().to, edges.back().capacity);
    }
    const auto cut = [&](const auto& beyond) {
      int64_t sum = 0;
      for (const Edge& edge : edges)
        if (!beyond(edge.from) && beyond(edge.to)) sum += edge.capacity;
      return sum;
    };
    int64_t least = std::numeric_limits<int64_t>::max();
    for (unsigned sides = 0; sides < 1U << nodes; ++sides) {
      const auto beyond = [&](int node) { return (sides >> node & 1) != 0; };
      if (!beyond(0) && beyond(1)) least = std::min(least, cut(beyond));
    }
    EXPECT_EQ(graph.solve(0, 1, 1'000'000), least);
    EXPECT_EQ(cut([&](int node) { return graph.beyond(node); }), least);
    EXPECT_FALSE(graph.beyond(0));
    EXPECT_TRUE(graph.beyond(1));
  }
}

}  // namespace
}  // namespace plimsoll::recompute
