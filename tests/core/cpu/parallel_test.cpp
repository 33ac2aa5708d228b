// parallel_for: the same pieces on any number of threads, and errors that arrive. Shares: which
// pieces a thread takes first.
#include "core/cpu/parallel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/cpu/shares.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

TEST(ParallelFor, CutsBySizeAlone) {
  const int before = num_threads();
  std::set<std::pair<int64_t, int64_t>> expected;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> seen;
    parallel_for(103, 10, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      seen.emplace(begin, end);
    });
    if (threads == 1) expected = seen;
    EXPECT_EQ(seen, expected);
  }
  EXPECT_EQ(expected.size(), 11U);
  set_num_threads(before);
}

TEST(ParallelFor, EmptyRangeRunsNothing) {
  parallel_for(0, 4, [](int64_t, int64_t) { FAIL(); });
}

TEST(ParallelFor, NestedRunsInline) {
  const int before = num_threads();
  set_num_threads(2);
  std::vector<int> hits(64);
  parallel_for(8, 1, [&](int64_t begin, int64_t) {
    EXPECT_EQ(num_threads(), 1);
    const auto outer = std::this_thread::get_id();
    parallel_for(8, 1, [&](int64_t inner, int64_t) {
      hits[static_cast<size_t>(begin * 8 + inner)] += outer == std::this_thread::get_id();
    });
  });
  EXPECT_EQ(hits, std::vector<int>(64, 1));
  set_num_threads(before);
}

// As a loop would, however late the thread that has it gets there.
TEST(ParallelFor, RethrowsWhatTheFirstPieceThrows) {
  const int before = num_threads();
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    for (int run = 0; run < 20; ++run)
      expect_error<IndexError>(
          [] {
            parallel_for(100, 1, [](int64_t i, int64_t) {
              if (i == 13) std::this_thread::sleep_for(std::chrono::milliseconds(1));
              if (i >= 13 && i % 3 == 1) fail<IndexError>("piece ", i);
            });
          },
          "piece 13");
  }
  set_num_threads(before);
}

TEST(ParallelFor, RethrowsOnTheCallingThread) {
  EXPECT_THROW(parallel_for(100, 1,
                            [](int64_t i, int64_t) {
                              if (i == 57) fail<IndexError>("here");
                            }),
               IndexError);
}

TEST(Shares, EachThreadBeginsWithNeighboursOfItsOwnAndThenHelps) {
  Shares shares(10, 3);  // 0 1 2, 3 4 5, 6 7 8 9
  const auto take = [&](int64_t thread, size_t most) {
    std::vector<int64_t> taken;
    try {
      shares.work(thread, [&](int64_t piece) {
        taken.push_back(piece);
        if (taken.size() == most) fail<IndexError>("enough");
      });
    } catch (const IndexError&) {
    }
    return taken;
  };
  EXPECT_EQ(take(1, 2), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(take(2, 5), (std::vector<int64_t>{6, 7, 8, 9, 0}));
  EXPECT_EQ(take(1, 10), (std::vector<int64_t>{5, 1, 2}));
  EXPECT_EQ(take(0, 10), std::vector<int64_t>());
}

TEST(ParallelFor, RefusesNoThreads) { EXPECT_THROW(set_num_threads(0), ValueError); }

}  // namespace
}  // namespace plimsoll
