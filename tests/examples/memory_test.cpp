// The examples' models in pools that are too small: exactly as large as the plan said, one granule
// smaller, and full at each allocation of a step in turn.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/full_pool.h"
#include "tests/support/training.h"

namespace plimsoll::examples {
namespace {

class ExamplesMemory : public testing::TestWithParam<How> {};

TEST_P(ExamplesMemory, AStepRunsInAPoolOfThePlannedBytesAndNotInLess) {
  How how = GetParam();
  how.captured = true;
  how.batches = 1;
  int64_t planned = 0;
  {
    const AllocatorScope scope(std::make_shared<PooledAllocator>(host_provider()));
    planned = Training(how).planned_bytes();
  }
  const auto pool = std::make_shared<PooledAllocator>(host_provider(), planned);
  const AllocatorScope scope(pool);
  Training training(how);
  training.planned_bytes();
  for (int i = 0; i < 6; ++i) EXPECT_GT(training.step(), 0);
  EXPECT_EQ(pool->stats().peak.bytes, planned);
  EXPECT_LE(pool->stats().reserved, planned);

  training.release_arena();
  pool->set_limit(planned - kGranule);
  const int64_t in_use = pool->stats().in_use;
  EXPECT_THROW(training.step(), OutOfMemory);
  training.release_arena();
  EXPECT_EQ(pool->stats().in_use, in_use);
}

// A window of batches whose allocation number `full_at` fails. A captured step that failed has
// changed nothing and runs again; an eager one may have added to the sums of its window, which then
// begins again. The last loss and whether anything failed.
std::pair<double, bool> train_window(const How& how, Training& training, FullPool& pool,
                                     int full_at) {
  const int64_t baseline = pool.stats().in_use, storages = Storage::live();
  bool failed = false;
  double loss = 0;
  pool.full_at = full_at;
  for (int64_t left = how.accumulate; left > 0;) {
    try {
      loss = training.step();
      --left;
    } catch (const OutOfMemory& error) {
      EXPECT_FALSE(failed);
      failed = true;
      EXPECT_TRUE(std::string(error.what()).ends_with(": full"));
      if (how.captured) {
        training.release_arena();
      } else {
        training.begin_window_again();
        left = how.accumulate;
      }
      EXPECT_EQ(pool.stats().in_use, baseline);
      EXPECT_EQ(Storage::live(), storages);
    }
  }
  pool.full_at = 0;
  return {loss, failed};
}

TEST_P(ExamplesMemory, EveryAllocationOfAWindowCanFail) {
  for (const bool captured : {false, true}) {
    How how = GetParam();
    how.captured = captured;
    if (!captured && how.budget > 0) continue;  // eagerly there are none
    SCOPED_TRACE(name_of(how));
    std::optional<Training> undisturbed;
    const auto twins = std::make_shared<FullPool>(host_provider());
    {
      const AllocatorScope scope(twins);
      undisturbed.emplace(how);
    }
    const auto pool = std::make_shared<FullPool>(host_provider());
    const AllocatorScope scope(pool);
    Training training(how);
    int failures = 0;
    for (bool failed = true; failed; ++failures) {
      double loss = 0, expected = 0;
      training.restart();  // plans and arena are made again
      std::tie(loss, failed) = train_window(how, training, *pool, failures + 1);
      {
        const AllocatorScope twin(twins);
        expected = train_window(how, *undisturbed, *twins, 0).first;
      }
      ASSERT_EQ(loss, expected) << "after failure " << failures;
      ASSERT_EQ(training.bits(), undisturbed->bits()) << "after failure " << failures;
      if (captured) {
        ASSERT_EQ(training.running_statistics(), undisturbed->running_statistics());
      }
    }
    EXPECT_GT(failures, captured ? 2 : 20);
    EXPECT_GT(training.updates(), how.scaled ? 0 : failures - 1);
    std::printf("%s: %d allocations failed\n", name_of(how).c_str(), failures - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ExamplesMemory,
    testing::Values(
        How{.model = "resnet8"}, How{.model = "gpt"}, How{.model = "gpt", .sgd = true},
        How{.model = "gpt", .accumulate = 2},
        How{.model = "resnet8", .precision = Precision::f16, .scaled = true},
        How{.model = "gpt", .precision = Precision::f16, .scaled = true, .accumulate = 2},
        How{.model = "gpt",
            .precision = Precision::f16,
            .scaled = true,
            .accumulate = 2,
            .budget = 600'000},
        How{.model = "resnet8", .sgd = true, .budget = 2'700'000}),
    [](const auto& info) {
      std::string name = name_of(info.param);
      std::ranges::replace(name, ' ', '_');
      return name;
    });

}  // namespace
}  // namespace plimsoll::examples
