// A budget over all programs of one step: the bytes that one keeps alive count for the others.
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

constexpr BudgetOptions kModel{.costs = CostModel::model, .search_seconds = 0.2};

// Of the run before there may be a result of another variant, and the arena is shared: neither adds
// to what a plan counts.
TEST(MemoryBudgetPrograms, ResultsAndArenasOfOtherVariantsCount) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const int64_t n = int64_t{1} << 16;
  const Tensor x = ones({n});
  int64_t which = 0;
  const auto function = [&](const Tensor& in) {
    return which == 0 ? in * 2 : sum(exp(expand(in, {6, n})));  // a large result, a large arena
  };
  std::vector<float> expected;
  for (which = 0; which < 2; ++which) expected.push_back(function(x).to_vector<float>().front());
  const auto plan_all = [&](Step& step) {
    for (const int64_t v : {0, 1, 0, 1}) which = v, step.plan(x);
  };
  int64_t enough = 0;
  {
    Step step(function, {.variant = [&] { return which; }});
    which = 0;
    const int64_t largest_results = step.plan(x).result_bytes;
    for (const int64_t v : {0, 1}) {
      which = v;
      enough = std::max(enough, step.plan(x).total_bytes() + largest_results);
    }
  }
  for (const int64_t budget : {enough, enough + 65, enough + 64 * 1024, 4 * enough}) {
    Step step(function, {.budget = budget, .planning = kModel, .variant = [&] { return which; }});
    plan_all(step);
    pool->reset_peak();
    Tensor result;
    for (const int64_t v : {0, 1, 1, 0, 0, 1, 0}) {
      which = v;
      result = step(x);
      EXPECT_EQ(result.to_vector<float>().front(), expected[static_cast<size_t>(v)]);
    }
    EXPECT_LE(pool->stats().peak.bytes, budget);
  }
  Step less(function,
            {.budget = enough - 64, .planning = kModel, .variant = [&] { return which; }});
  EXPECT_THROW(plan_all(less), BudgetError);
}

// What programs that are gone alone have used does not stay alive, nor count: not even for another
// step that used it too.
TEST(MemoryBudgetPrograms, ForgottenProgramsHoldNothing) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Tensor weight = ones({1 << 16});
  const std::weak_ptr<Storage> large = weight.value().storage;
  const auto function = [&](const Tensor& x) { return sum(weight) * x; };
  const StepOptions options{.budget = 4 << 20, .planning = kModel};
  Step first(function, options), second(function, options);
  const auto plan_both = [&](int64_t n) {
    first.plan(ones({n}));
    second.plan(ones({n}));
  };
  plan_both(1);
  weight = ones({1});
  for (int64_t n = 2; n <= int64_t{Step::kPlans}; ++n) plan_both(n);
  EXPECT_FALSE(large.expired());
  plan_both(int64_t{Step::kPlans} + 1);
  EXPECT_TRUE(large.expired());
}

// Without a variant, too: each kind of input has a program with constants of its own.
TEST(MemoryBudgetPrograms, ConstantsForOtherInputsCount) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const auto function = [](const Tensor& x) {
    const auto n = static_cast<size_t>(x.count());
    return sum(x * Tensor::of<float>(std::vector(n, 3.0f), x.shape()));
  };
  const std::vector<int64_t> sizes{1000, 1001, 500, 2000, 1999, 10};
  const auto plan_all = [&](Step& step) {
    for (size_t i = 0; i < 2 * sizes.size(); ++i) step.plan(Metas{{{sizes[i % sizes.size()]}}});
  };
  int64_t constants = 0, most = 0;
  for (const int64_t n : sizes) {
    const Plan plan = make_plan(capture(step_function(function), Metas{{{n}}}));
    constants += plan.pinned_bytes;
    most = std::max(most, plan.total_bytes() - plan.pinned_bytes + plan.result_bytes);
  }
  for (const int64_t missing : {0, 64}) {
    Step step(function, {.budget = constants + most - missing, .planning = kModel});
    if (missing > 0) {
      EXPECT_THROW(plan_all(step), BudgetError);
      continue;
    }
    plan_all(step);
    Tensor result;
    // In the third all are captured, and hold their constants; where runs check what was captured
    // and make constants for that, the second does, and the third does not.
    for (int round = 1; round <= 3; ++round)
      for (const int64_t n : sizes) {
        if (round == 3) pool->reset_peak();
        result = step(ones({n}));
        EXPECT_EQ(result.item(), 3.0 * static_cast<double>(n));
        if (round == 3) {
          EXPECT_LE(pool->stats().peak.bytes, constants + most);
        }
      }
  }
}

// The planner does not know that the input lies in the same memory as what the step reads besides.
TEST(MemoryBudgetPrograms, AnInputThatIsWrittenMayNotBeReadBesides) {
  const Tensor w = Tensor::of<float>({1, 2, 3, 4}, {4}), b = Tensor::of<float>({1, 0, 1, 0}, {4});
  Step step([&](const Tensor& x, const Tensor& mask) {
    const Tensor half = gt(mask, 0.5);
    const Tensor doubled = w * 2;
    apply_mask(x, half);
    return doubled;
  });
  expect_error<StateError>([&] { step(w, b); },
                           "step: input 0, which the step writes in place, shares its memory with "
                           "a tensor that it reads besides its inputs. Pass a copy.");
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  const Tensor other = Tensor::of<float>({1, 2, 3, 4}, {4});
  EXPECT_EQ(step(other, b).to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(other.to_vector<float>(), (std::vector<float>{1, 0, 3, 0}));
  const Tensor nothing = slice(w, 0, 0, 0);  // has no bytes to share
  EXPECT_EQ(step(nothing, slice(b, 0, 0, 0)).to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
}

}  // namespace
}  // namespace plimsoll
