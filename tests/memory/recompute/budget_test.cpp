// Training under a budget: the bytes are kept, the refusal is exact.
#include "memory/step/passes.h"

#include <algorithm>

#include "memory/passes/early_update.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/recompute/costs.h"
#include "memory/recompute/program.h"
#include "tests/support/errors.h"
#include "tests/support/full_pool.h"
#include "tests/support/training.h"

namespace plimsoll {
namespace {

using examples::How;
using examples::Training;

constexpr BudgetOptions kModel = Training::kPlanning;

How how_of(const std::string& model) {
  return {.model = model, .captured = true, .batches = 1, .layers = 3, .images = 8};
}

Program program_of(const std::string& model) {
  How how = how_of(model);
  how.device = Device::null;
  Training training(how);
  return capture_live(training.function(), training.metas());
}

TEST(MemoryBudget, TheSmallestBudgetWorksAndOneGranuleLessIsRefused) {
  for (const char* name : {"lenet", "resnet8", "vgg", "sepcnn", "gpt"}) {
    SCOPED_TRACE(name);
    const BudgetPlanner planner = budget_planner(program_of(name), kModel);
    const int64_t least = planner.smallest();
    const Plan plan = planner.plan_within(least).plan;
    // Placed anew, it may take a little less than the search placed it in.
    EXPECT_LE(plan.total_bytes() + plan.result_bytes, least);
    EXPECT_GE(plan.total_bytes() + plan.result_bytes, least / 100 * 99);
    expect_error<BudgetError>([&] { planner.plan_within(least - kGranule); },
                              cat("step: the budget is too small: ", least - kGranule,
                                  " bytes, and the smallest plan found takes ", least,
                                  " with the results of the run before. Allow that many, search "
                                  "longer, or take a smaller batch or 16-bit precision."));
  }
}

// What does not run again is what runs in the step that keeps all. Returns the others.
std::vector<Instruction> repetitions(const PlannedProgram& planned, const Program& keep) {
  std::vector<Instruction> again;
  std::vector<const OpDef*> rest, all;
  for (const Instruction& instruction : planned.program.instructions)
    if (!instruction.out.empty() && instruction.out[0].buffer >= std::ssize(keep.buffers))
      again.push_back(instruction);
    else
      rest.push_back(instruction.op);
  for (const Instruction& instruction : keep.instructions) all.push_back(instruction.op);
  std::ranges::sort(rest);
  std::ranges::sort(all);
  EXPECT_EQ(rest, all);
  EXPECT_EQ(planned.plan.recompute.repetitions, std::ssize(again));
  return again;
}

TEST(MemoryBudget, ALargerBudgetNeverCostsMoreTime) {
  int pairs = 0;
  for (const char* name : {"lenet", "resnet8", "vgg", "sepcnn", "gpt"}) {
    SCOPED_TRACE(name);
    const BudgetPlanner planner = budget_planner(program_of(name), kModel);
    const int64_t least = planner.smallest(), most = planner.largest();
    const Program keep = planner.plan_within(most).program;
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= 40; ++k, ++pairs) {
      const int64_t budget = least + (most - least) * k / 40;
      const PlannedProgram planned = planner.plan_within(budget);
      const Plan& plan = planned.plan;
      EXPECT_LE(plan.total_bytes(), budget);
      EXPECT_LE(plan.recompute.added_seconds, before);
      EXPECT_LE(plan.recompute.least_repeated_seconds,
                plan.recompute.repeated_seconds * (1 + 1e-12));
      double repeated = 0;
      for (const Instruction& instruction : repetitions(planned, keep))
        repeated += modelled_seconds(instruction);
      EXPECT_NEAR(plan.recompute.repeated_seconds, repeated, 1e-12 * repeated);
      before = plan.recompute.added_seconds;
    }
    EXPECT_EQ(before, 0);
  }
  EXPECT_GE(pairs, 200);
}

// Near the smallest memory a little more is worth much: the plan says so, and it is so.
TEST(MemoryBudget, SaysWhereALittleMoreCostsMuchLess) {
  const BudgetPlanner planner = budget_planner(program_of("gpt"), kModel);
  const Recompute least = planner.plan_within(planner.smallest()).plan.recompute;
  ASSERT_GT(least.larger_budget, planner.smallest());
  EXPECT_LE(least.larger_budget, planner.smallest() * 21 / 20);
  EXPECT_LT(least.larger_added_seconds, least.added_seconds / 2);
  const Plan larger = planner.plan_within(least.larger_budget).plan;
  EXPECT_LE(larger.total_bytes() + larger.result_bytes, least.larger_budget);
  EXPECT_LE(larger.recompute.added_seconds, least.larger_added_seconds);
  EXPECT_EQ(planner.plan_within(planner.largest()).plan.recompute.larger_budget, 0);
}

// What is said of the step that keeps all is in its own arena, and of the plans that fit the
// cheapest is taken.
TEST(MemoryBudget, MeasuredCostsArePricedByTheArena) {
  for (const char* name : {"resnet8", "gpt"}) {
    SCOPED_TRACE(name);
    Training training(how_of(name));
    const BudgetPlanner planner = budget_planner(
        capture_live(training.function(), training.metas()), {.search_seconds = 0.1});
    const int64_t least = planner.smallest(), most = planner.largest();
    const PlannedProgram keep = planner.plan_within(most);
    double base = 0;
    for (const Cost& cost : instruction_costs(keep.program, CostModel::measured))
      base += cost.at(arena_farness(keep.plan.arena_bytes));
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= 20; ++k) {
      const PlannedProgram planned = planner.plan_within(least + (most - least) * k / 20);
      const Recompute& recompute = planned.plan.recompute;
      EXPECT_DOUBLE_EQ(planner.keep_seconds(), base);
      EXPECT_EQ(recompute.step_seconds, k < 20 ? planner.keep_seconds() : 0);
      EXPECT_LE(recompute.added_seconds, before);
      EXPECT_LE(recompute.least_repeated_seconds, recompute.repeated_seconds * (1 + 1e-12));
      EXPECT_EQ(recompute.repeated_seconds > 0, !repetitions(planned, keep.program).empty());
      before = recompute.added_seconds;
    }
    EXPECT_EQ(before, 0);
  }
}

// Gradients go one by one; the step counter, which waits for none, stays behind the loss, so that a
// step whose labels are refused is not counted.
TEST(MemoryBudget, UpdatesRunAsSoonAsTheirGradientIsThere) {
  const Program program = program_of("gpt"), early = update_early(program);
  ASSERT_EQ(early.instructions.size(), program.instructions.size());
  EXPECT_LT(make_plan(early).arena_bytes, make_plan(program).arena_bytes);
  const auto place = [&](const std::string& name) {
    return std::ranges::find(early.instructions, name,
                             [](const Instruction& i) { return std::string(i.op->name); }) -
           early.instructions.begin();
  };
  EXPECT_LT(place("cross_entropy_grad"), place("increment"));
  EXPECT_LT(place("increment"), place("adam_update"));
  EXPECT_LT(place("adam_update"), std::ssize(early.instructions) / 2 + 40);
}

TEST(MemoryBudget, EqualProgramsGiveEqualPlans) {
  const PlannedProgram first = [] {
    const BudgetPlanner planner = budget_planner(program_of("gpt"), kModel);
    return planner.plan_within(planner.smallest());
  }();
  const BudgetPlanner planner = budget_planner(program_of("gpt"), kModel);
  EXPECT_TRUE(first.plan == planner.plan_within(planner.smallest()).plan);
}

// The phases of an accumulation keep different things alive: Adam's moments are in the last program
// alone, and are there all the time.
TEST(MemoryBudget, AllVariantsTogetherStayBelowIt) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const auto peak_of = [&](int64_t budget) {
    How how = how_of("gpt");
    how.accumulate = 3;
    how.budget = budget;
    Training training(how);
    training.planned_bytes();  // all phases are known before the first run
    pool->reset_peak();
    training.run(6);
    return pool->stats().peak.bytes;
  };
  const int64_t free = peak_of(0);
  for (const int64_t budget : {free, free * 9 / 10, free * 8 / 10})
    EXPECT_LE(peak_of(budget), budget);
}

// Each capture makes its constants itself, and all programs that there are hold theirs.
TEST(MemoryBudget, ConstantsOfAllVariantsCount) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  int64_t which = 0;
  const auto function = [&](const Tensor& x) {
    return x * Tensor::of<float>(std::vector(1000, static_cast<float>(which)), {1000});
  };
  const Tensor x = ones({1000});
  const int64_t constant = block_bytes(4000);
  const int64_t alone =
      budget_planner(capture(step_function(function), std::array{x.meta()}), kModel).smallest();
  for (const int64_t missing : {0, 64}) {
    Step step(function, {.budget = alone + 2 * constant - missing,
                         .planning = kModel,
                         .variant = [&] { return which; }});
    which = 0, step.plan(x);
    which = 1, step.plan(x);
    which = 2;
    if (missing > 0) {
      EXPECT_THROW(step.plan(x), BudgetError);
      continue;
    }
    Tensor result;
    for (int i = 0; i < 9; ++i) {
      which = i % 3;
      if (i == 3) pool->reset_peak();  // all are captured now
      result = step(x);
      EXPECT_EQ(result.to_vector<float>(), std::vector(1000, static_cast<float>(which)));
    }
    EXPECT_EQ(pool->stats().peak.bytes, alone + 2 * constant);
  }
}

// Measured costs time kernels on memory of their own.
TEST(MemoryBudget, MeasuringTakesNothingFromThePool) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Training training(how_of("gpt"));
  constexpr BudgetOptions kShort{.search_seconds = 0.1};
  const int64_t most =
      budget_planner(capture_live(training.function(), training.metas()), kShort).largest();
  Step step(training.function(), {.budget = most - kGranule, .planning = kShort});
  const MemoryStats before = pool->stats();
  pool->reset_peak();
  const Plan& plan = step.plan(training.metas());
  EXPECT_GT(plan.recompute.step_seconds, 0);
  EXPECT_EQ(pool->stats().allocations, before.allocations);
  EXPECT_EQ(pool->stats().peak.bytes, before.in_use);
}

// loss = step(x): one result is held while the next is made.
TEST(MemoryBudget, IsKeptWhileTheCallerHoldsTheLastResults) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const Tensor w = ones({1000});
  const auto function = [&](const Tensor& x) { return exp(x * w) + w; };
  const Tensor x = ones({1000});
  const BudgetPlanner planner =
      budget_planner(capture(step_function(function), std::array{x.meta()}), kModel);
  pool->set_limit(planner.smallest());
  Step step(function, {.budget = planner.smallest(), .planning = kModel});
  Tensor result;
  for (int i = 0; i < 3; ++i) result = step(x);
  EXPECT_EQ(pool->stats().peak.bytes, planner.smallest());
}

// A variant that is refused, or whose capture fails, leaves the others as they were.
TEST(MemoryBudget, AVariantThatFailsChangesNothing) {
  const auto pool = std::make_shared<FullPool>(host_provider());
  const AllocatorScope scope(pool);
  int64_t which = 0;
  const Tensor small = ones({16});
  std::optional<Tensor> large = ones({100'000});
  const auto function = [&](const Tensor& x) {
    if (which == 0) return x * small;
    if (which == 1) return x * sum(*large);
    return x * Tensor::of<float>({2}, {1});  // a constant, made by the capture
  };
  Step step(function, {.budget = 10'000, .planning = kModel, .variant = [&] { return which; }});
  const Tensor x = ones({16});
  const std::vector<float> expected = step(x).to_vector<float>();
  const Plan* plan = &step.plan(x);
  which = 1;
  EXPECT_THROW(step.plan(x), BudgetError);
  EXPECT_THROW(step(x), BudgetError);
  which = 2;
  pool->full_at = 1;
  EXPECT_THROW(step(x), OutOfMemory);
  which = 0;
  EXPECT_EQ(&step.plan(x), plan);
  EXPECT_EQ(step(x).to_vector<float>(), expected);
  const int64_t in_use = pool->stats().in_use;
  large.reset();  // the step does not keep what only a refused variant used
  EXPECT_EQ(pool->stats().in_use, in_use - 400'000);
  which = 2;
  EXPECT_EQ(step(x).to_vector<float>(), std::vector<float>(16, 2));
}

TEST(MemoryBudget, ARefusedBudgetAllocatesNothing) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Training training(how_of("gpt"));
  const int64_t before = pool->stats().allocations;
  Step step(training.function(), {.budget = 1000, .planning = kModel});
  EXPECT_THROW(step.plan(training.metas()), BudgetError);
  EXPECT_EQ(pool->stats().allocations, before);
  EXPECT_THROW(Step(training.function(), {.budget = -1}), ValueError);
  EXPECT_THROW(budget_planner(program_of("lenet"), {.search_seconds = 0}), ValueError);
  EXPECT_THROW(budget_planner(program_of("lenet"), {.search_seconds = std::nan("")}), ValueError);
}

}  // namespace
}  // namespace plimsoll
