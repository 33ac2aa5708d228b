// Work in a process of its own: what it takes, what it returns, how it fails.
#include "examples/measure/own_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "memory/pool/pooled_allocator.h"
#include "tests/support/errors.h"

namespace plimsoll::examples {
namespace {

TEST(OwnProcess, ReturnsWhatTheWorkReturns) {
  struct Pair {
    int64_t a;
    double b;
  };
  int here = 1;
  const auto pair = in_own_process<Pair>([&] {
    here = 2;
    return Pair{7, 0.5};
  });
  EXPECT_EQ(pair.a, 7);
  EXPECT_EQ(pair.b, 0.5);
  EXPECT_EQ(here, 1);
  EXPECT_EQ(bytes_of_own_process([] { return std::string(1 << 20, 'x'); }),
            std::string(1 << 20, 'x'));  // more than a pipe holds
}

TEST(OwnProcess, ErrorsComeOutAsTheyAre) {
  const auto failing = [](auto error) {
    bytes_of_own_process([&]() -> std::string { throw error; });
  };
  expect_error<UsageError>([&] { failing(UsageError("a: b: 1. c.")); }, "a: b: 1. c.");
  expect_error<DataError>([&] { failing(DataError("d: e: 2. f.")); }, "d: e: 2. f.");
  expect_error<Error>([&] { failing(StateError("g: h: 3. i.")); }, "g: h: 3. i.");
  EXPECT_THROW(failing(std::bad_alloc()), std::bad_alloc);
  expect_error<OutOfMemory>(
      [&] {
        bytes_of_own_process([]() -> std::string {
          raise(SIGKILL);
          return "";
        });
      },
      "process: it was ended by signal 9. It may have taken more memory than the machine has: use "
      "a smaller batch.");
  expect_error<Error>([] { bytes_of_own_process([]() -> std::string { std::_Exit(3); }); },
                      "process: it ended by itself, without a result: exit status 3. Look at what "
                      "it printed.");
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
int64_t growth_by(size_t bytes) {
  return in_own_process<int64_t>([&] {
    const int64_t before = begin_growth();
    const std::vector<char> taken(bytes, 'x');
    return taken.back() == 'x' ? peak_resident() - before : 0;
  });
}

// To within a hundred pages or so, whatever was taken and freed here before.
TEST(OwnProcess, GrowsByWhatItsWorkTouches) {
  constexpr int64_t mebibytes = int64_t{1} << 20, slack = 4 * mebibytes;
  for (const int64_t bytes : {64 * mebibytes, 8 * mebibytes, 64 * mebibytes}) {
    std::vector<std::vector<char>> heap(1000, std::vector<char>(100'000, 'x'));
    heap.clear();  // 100 MB, some of which this process still has
    const int64_t growth = growth_by(static_cast<size_t>(bytes));
    EXPECT_GT(growth, bytes - slack);
    EXPECT_LT(growth, bytes + slack);
  }
}

// A heap would keep what lies below a block that is still there: here, 30 MiB.
TEST(OwnProcess, WhatAPoolGivesBackIsGone) {
  const int64_t left = in_own_process<int64_t>([] {
    PooledAllocator pool(host_provider());
    const int64_t before = begin_growth();
    std::vector<std::vector<char>> between;
    for (int round = 0; round < 2; ++round) {
      constexpr int64_t size = int64_t{3} << 20;
      std::vector<void*> blocks;
      for (int i = 0; i < 10; ++i) {
        blocks.push_back(pool.allocate(size, MemoryClass::workspace, "test"));
        std::memset(blocks.back(), 1, size);
        between.emplace_back(1000, 'x');
      }
      for (void* block : blocks) pool.deallocate(block, size, MemoryClass::workspace);
      pool.trim();
    }
    return resident() - before;
  });
  EXPECT_LT(left, int64_t{6} << 20);
}
#endif

}  // namespace
}  // namespace plimsoll::examples
