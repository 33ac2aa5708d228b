// Exchanges beside the computation: where they start and where they are waited for, and that
// thousands of random programs of ranks, whose network is as late and as early as it may be, keep
// the bits of what they were captured from. The executor shares no code with the planner: what is
// in flight lies where nothing else does, and what nobody reads again is NaN.
#include "memory/passes/overlap_communication.h"

#include <algorithm>

#include "core/ranks/planned_ranks.h"
#include "memory/layout/memory_timeline.h"
#include "memory/passes/dead_code.h"
#include "memory/passes/early_update.h"
#include "memory/passes/gathers.h"
#include "memory/step/passes.h"
#include "ops/ops.h"
#include "tests/support/memory_checker.h"
#include "tests/support/memory_random.h"
#include "tests/support/thread_ranks.h"

namespace plimsoll {
namespace {

using namespace memory_test;

std::vector<std::string> ops_of(const Program& program) {
  std::vector<std::string> names;
  for (const Instruction& instruction : program.instructions)
    names.emplace_back(instruction.op->name);
  return names;
}

// A rank's own row of what all have, as an example of what an update reads.
Tensor first_of(const Tensor& gathered) { return reshape(slice(gathered, 0, 0, 1), {-1}); }

TEST(OverlapCommunication, StartsBehindTheLastMakerAndWaitsAfterTheNextStart) {
  PlannedRanks ranks(0, 2);
  const RanksScope scope(&ranks);
  const Tensor sums[] = {ramp(8), ramp(8), ramp(8)}, state[] = {ramp(8), ramp(8), ramp(8)};
  const Program captured = capture(
      [&](std::span<const Tensor> in) {
        Tensor grad = in[0];
        for (const Tensor& sum : sums) add_to(sum, grad = flip(grad));
        for (int i = 0; i < 3; ++i) add_to(state[i], first_of(all_gather(sums[i])));
        return std::vector{grad};
      },
      std::array{vec(8, Device::cpu)});
  const std::vector<std::string> expected{"flip",
                                          "add_to",
                                          "start_all_gather",  // of the first sum
                                          "flip",
                                          "add_to",
                                          "start_all_gather",
                                          "wait_all_gather",
                                          "add_to",  // the first is there
                                          "flip",
                                          "add_to",
                                          "start_all_gather",
                                          "wait_all_gather",
                                          "add_to",  // the second
                                          "wait_all_gather",
                                          "add_to"};
  EXPECT_EQ(ops_of(overlap_communication(update_early(captured))), expected);
}

// What is received is exchanged again: both parts of an all_reduce beside the computation.
TEST(OverlapCommunication, LetsExchangesThatFollowTakeTurns) {
  PlannedRanks ranks(0, 2);
  const RanksScope scope(&ranks);
  const Tensor sums[] = {ramp(8), ramp(8), ramp(8)};
  const Program captured = capture(
      [&](std::span<const Tensor> in) {
        Tensor grad = in[0];
        for (const Tensor& sum : sums) add_to(sum, grad = flip(grad));
        std::vector<Tensor> all;
        for (const Tensor& sum : sums)
          all.push_back(all_gather(sum_parts(all_to_all(reshape(sum, {2, 4})))));
        return all;
      },
      std::array{vec(8, Device::cpu)});
  const std::vector<std::string> expected{"flip",
                                          "add_to",
                                          "start_all_to_all",
                                          "flip",
                                          "add_to",
                                          "start_all_to_all",
                                          "wait_all_to_all",
                                          "sum_parts",
                                          "start_all_gather",
                                          "flip",
                                          "add_to",
                                          "start_all_to_all",
                                          "wait_all_to_all",
                                          "sum_parts",
                                          "start_all_gather",
                                          "wait_all_to_all",
                                          "sum_parts",
                                          "start_all_gather",
                                          "wait_all_gather",
                                          "wait_all_gather",
                                          "wait_all_gather"};  // nobody needs them before
  EXPECT_EQ(ops_of(overlap_communication(update_early(captured))), expected);
}

// Sums that a step begins with zeros, as those of one batch, are exchanged as they fill too.
TEST(OverlapCommunication, StartsWithSumsOfTheStepItself) {
  PlannedRanks ranks(0, 2);
  const RanksScope scope(&ranks);
  const Tensor state[] = {ramp(8), ramp(8)};
  const Program captured = capture(
      [&](std::span<const Tensor> in) {
        std::vector<Tensor> grads{flip(in[0])};
        grads.push_back(flip(grads[0]));
        for (size_t i = 0; i < grads.size(); ++i) {
          const Tensor sum = zeros({8});
          add_to(sum, grads[i]);
          add_to(state[i], first_of(all_gather(sum)));
        }
        return std::vector{flip(grads[1])};
      },
      std::array{vec(8, Device::cpu)});
  const std::vector<std::string> expected{"flip",
                                          "full",
                                          "add_to",
                                          "start_all_gather",  // of the first gradient
                                          "flip",
                                          "full",
                                          "add_to",
                                          "start_all_gather",
                                          "wait_all_gather",
                                          "add_to",  // the first is there
                                          "flip",
                                          "wait_all_gather",
                                          "add_to"};
  EXPECT_EQ(ops_of(overlap_communication(update_early(captured))), expected);
}

// What is in the way of computing, as in layers that ranks share, only waits as late as it can.
TEST(OverlapCommunication, LeavesWhatTheStepComputesWithInItsPlace) {
  PlannedRanks ranks(0, 2);
  const RanksScope scope(&ranks);
  const Program captured = capture(
      [&](std::span<const Tensor> in) {
        const Tensor there = first_of(all_gather(scale(in[0], 2))), here = flip(in[0]);
        return std::vector{plus(there, here)};
      },
      std::array{vec(8, Device::cpu)});
  EXPECT_EQ(
      ops_of(overlap_communication(captured)),
      (std::vector<std::string>{"scale", "start_all_gather", "flip", "wait_all_gather", "plus"}));
}

// ---- random programs

// Others with --gtest_shuffle --gtest_random_seed=N, so many more with --gtest_repeat=M.
constexpr uint32_t kPrograms = 3'000;
uint32_t first_seed() {
  return kPrograms * static_cast<uint32_t>(testing::UnitTest::GetInstance()->random_seed());
}

// The first n elements of what ranks have parts of.
Tensor gathered(const Tensor& part, int64_t n) {
  const MemoryScope scope(MemoryClass::gathered);
  return rows(reshape(all_gather(part), {-1}), 0, n);
}

// The sum of all ranks' x, its parts by all_to_all where they are even; of some sizes of a sum that
// begins with zeros, or with two parameters.
Tensor reduced(const Tensor& x) {
  static const Tensor parts[] = {ramp(64), ramp(64, 3)};
  const int64_t ranks = ranks_now(), n = x.size(0);
  Tensor here = contiguous(x);
  if (n % 3 == 0) {
    here = zeros({n});
    add_to(here, x);
  } else if (n % 3 == 1) {
    here = plus(x, plus(gathered(parts[0], n), gathered(parts[1], n)));
  }
  if (n % ranks != 0) return sum_parts(all_gather(here));
  return reshape(all_gather(sum_parts(all_to_all(reshape(here, {ranks, n / ranks})))), {n});
}

// What a rank has after a step: results and state.
using Bits = std::vector<std::vector<float>>;

struct RankCase {
  RankCase(uint32_t seed, int64_t rank)
      : n(8 + 8 * static_cast<int64_t>(seed % 5)),
        state{ramp(n, 1 + static_cast<float>(rank)), ramp(2 * n, -2)},
        inputs{ramp(2 * n, 3), ramp(n, -static_cast<float>(rank))},
        function(seed, 5 + static_cast<int>(seed % 40), state, reduced) {}

  Bits with_state(Bits bits) const {
    for (const Tensor& s : state) bits.push_back(s.to_vector<float>());
    return bits;
  }
  Bits eager() const {
    Bits bits;
    for (const Tensor& result : function(inputs)) bits.push_back(result.to_vector<float>());
    return with_state(std::move(bits));
  }
  Program program() const {
    return remove_dead(capture(function, std::vector{inputs[0].meta(), inputs[1].meta()}));
  }

  int64_t n;
  std::vector<Tensor> state, inputs;
  RandomStep function;
};

TEST(OverlapCommunication, KeepsTheBitsOfRandomProgramsOnAHostileNetwork) {
  std::atomic<int> early = 0, in_flight = 0;
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed < first + kPrograms && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const int64_t n = 2 + seed % 3;
    std::vector<Bits> expected(static_cast<size_t>(n));
    std::vector<std::vector<std::string>> ops(expected.size());
    run_ranks(
        n,
        [&](Ranks& ranks) {
          const auto r = static_cast<size_t>(ranks.rank());
          expected[r] = RankCase(seed, ranks.rank()).eager();
          const RankCase c(seed, ranks.rank());
          Program captured = c.program();
          if (seed % 2) captured = gather_again(std::move(captured));
          const Program updated = update_early(captured), program = overlap_communication(updated);
          const Plan plan = make_plan(program);
          ops[r] = ops_of(program);
          const Bits bits = c.with_state(Checker(program, plan).run(c.inputs));
          EXPECT_EQ(bits, expected[r]) << "rank " << r << " of " << n << ", seed " << seed;
          if (r > 0) return;
          int open = 0, most = 0;
          for (const Instruction& instruction : program.instructions) {
            const CollectiveRule* collective = instruction.op->collective;
            open += !collective ? 0 : collective->later ? 1 : -1;
            most = std::max(most, open);
          }
          EXPECT_EQ(open, 0);
          const std::vector<Flight> flights = make_timeline(program, plan).flights;
          int overlap = 0;
          for (const Flight& a : flights) {
            const Instruction &first = program.instructions[static_cast<size_t>(a.begin)],
                              &last = program.instructions[static_cast<size_t>(a.end) - 1];
            EXPECT_EQ(last.in[1].buffer, first.out[0].buffer);
            EXPECT_EQ(last.in[2].buffer, first.out[1].buffer);
            overlap = std::max(
                overlap, static_cast<int>(std::ranges::count_if(flights, [&](const Flight& b) {
                  return b.begin <= a.begin && a.begin < b.end;
                })));
          }
          EXPECT_EQ(overlap, most);
          early += program.instructions.size() != updated.instructions.size();
          in_flight += most > 1;
        },
        {.hostile = true, .seed = seed});
    for (const auto& of_rank : ops) ASSERT_EQ(of_rank, ops[0]);
  }
  EXPECT_GT(early, static_cast<int>(kPrograms / 2));      // the programs do exchange, ...
  EXPECT_GT(in_flight, static_cast<int>(kPrograms / 4));  // several at a time
}

// A budget that has room for what is in flight has exchanges beside the computation too.
TEST(OverlapCommunication, StaysWithinABudget) {
  int recomputed = 0, in_flight = 0;
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed < first + kPrograms / 10 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    run_ranks(2,
              [&](Ranks& ranks) {
                const Bits expected = RankCase(seed, ranks.rank()).eager();
                for (const double share : {0.0, 0.5}) {
                  const RankCase c(seed, ranks.rank());
                  const BudgetPlanner planner =
                      budget_planner(c.program(), {.search_seconds = 1e-4});
                  const int64_t least = planner.smallest(), most = planner.largest();
                  const auto room = static_cast<int64_t>(share * static_cast<double>(most - least));
                  const auto [program, plan] = plan_within(planner, least + room);
                  EXPECT_LE(plan.total_bytes() + plan.result_bytes, least + room);
                  EXPECT_EQ(plan.recompute.budget, least + room);
                  EXPECT_EQ(c.with_state(Checker(program, plan).run(c.inputs)), expected);
                  if (ranks.rank() > 0) continue;
                  recomputed += plan.recompute.repetitions > 0;
                  in_flight += !make_timeline(program, plan).flights.empty();
                }
              },
              {.hostile = true, .seed = seed});
  }
  EXPECT_GT(recomputed, static_cast<int>(kPrograms / 50));
  EXPECT_GT(in_flight, static_cast<int>(kPrograms / 50));
}

}  // namespace
}  // namespace plimsoll
