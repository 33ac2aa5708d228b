// Training stays where it is: after the first steps neither the bytes that live nor those that the
// pool has reserved change, nor does the process grow. PLIMSOLL_STEPS sets how many steps.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/cpu/parallel.h"
#include "examples/measure/own_process.h"
#include "memory/pool/pooled_allocator.h"
#include "tests/support/training.h"

namespace plimsoll::examples {
namespace {

// A training, after its first steps, for `steps` more.
void expect_steady(const How& how, int steps) {
  SCOPED_TRACE(name_of(how));
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Training training(how);
  if (how.captured) training.planned_bytes();
  for (int i = 0; i < 24; ++i) training.step();
  const MemoryStats before = pool->stats();
  const int64_t storages = Storage::live(), resident_before = resident();
  for (int i = 0; i < steps; ++i) {
    training.step();
    const MemoryStats now = pool->stats();
    ASSERT_EQ(now.in_use, before.in_use) << "after " << i;
    ASSERT_EQ(now.by_class, before.by_class) << "after " << i;
    ASSERT_EQ(now.reserved, before.reserved) << "after " << i;
    ASSERT_EQ(now.peak.bytes, before.peak.bytes) << "after " << i;
    ASSERT_EQ(Storage::live(), storages) << "after " << i;
  }
  const int64_t growth = resident() - resident_before;
#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed
  // On a busy machine a thread may get its first product, and pack its operands, only now.
  EXPECT_LT(growth, (int64_t{1} << 20) + (num_threads() - 1) * (int64_t{2} << 20));
#endif
  std::printf("%s: %d steps, %lld bytes live, %lld reserved, process grew by %lld\n",
              name_of(how).c_str(), steps, static_cast<long long>(before.in_use),
              static_cast<long long>(before.reserved), static_cast<long long>(growth));
}

class ExamplesSteady : public testing::TestWithParam<std::string> {};

TEST_P(ExamplesSteady, NothingGrows) {
  const char* given = std::getenv("PLIMSOLL_STEPS");
  const int steps = given ? std::atoi(given) : 60;
  How how{.model = GetParam()};
  const auto budget = [&] {  // between all and the least
    How free = how;
    free.captured = true;
    free.budget = 0;
    return Training(free).planned_bytes() * 19 / 20;
  };
  expect_steady(how, steps);
  how.checkpoint = true;
  expect_steady(how, steps);
  how = {.model = GetParam(), .captured = true};
  expect_steady(how, steps);
  how.budget = budget();
  expect_steady(how, steps);
  how = {.model = GetParam(), .precision = Precision::f16, .scaled = true, .accumulate = 3};
  expect_steady(how, steps);
  how.captured = true;
  expect_steady(how, steps);
  how.budget = budget();
  expect_steady(how, steps);
}

INSTANTIATE_TEST_SUITE_P(, ExamplesSteady, testing::Values("resnet8", "gpt"));

}  // namespace
}  // namespace plimsoll::examples
