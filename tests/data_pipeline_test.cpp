// Streams: the same items in the same order for any number of workers, errors in their turn, and
// every way to stop in the middle.
#include "data/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <set>

#include "tests/data_testing.h"

namespace plimsoll::data {
namespace {

template <class T>
std::vector<T> all(const Stream<T>& stream) {
  std::vector<T> items;
  while (auto item = stream()) items.push_back(std::move(*item));
  EXPECT_FALSE(stream());  // the end stays the end
  return items;
}

std::vector<int64_t> first_numbers(int64_t n) {
  std::vector<int64_t> items(static_cast<size_t>(n));
  std::iota(items.begin(), items.end(), 0);
  return items;
}

constexpr MapAttrs kWays[] = {{0, 0}, {0, 4}, {4, 0}, {1, 1}, {1, 3}, {4, 1}, {4, 9}, {7, 100}};

// Item i takes long when i is a multiple of 5, so that workers overtake each other.
int64_t slow_square(int64_t i) {
  if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return i * i;
}

TEST(DataPipeline, AMapKeepsTheOrder) {
  for (const MapAttrs& way : kWays) {
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 100; ++i) expected.push_back(i * i);
    EXPECT_EQ(all(mapped(numbers(0, 100), slow_square, way)), expected);
    EXPECT_TRUE(all(mapped(numbers(0, 0), slow_square, way)).empty());
  }
}

TEST(DataPipeline, SeveralWorkersWorkAtOnce) {
  // Each of four items waits until all four have been begun.
  std::atomic<int> begun = 0;
  const auto meet = [&](int64_t i) {
    ++begun;
    while (begun < 4) std::this_thread::yield();
    return i;
  };
  EXPECT_EQ(all(mapped(numbers(0, 4), meet, {.workers = 4, .ahead = 4})), first_numbers(4));
}

TEST(DataPipeline, RunsAheadByWhatWasAskedForAndNoFurther) {
  for (const int64_t workers : {1, 4}) {
    std::atomic<int64_t> made = 0;
    const auto stream =
        mapped(numbers(0, 100), [&](int64_t i) { return ++made, i; }, {workers, /*ahead=*/3});
    while (made < 3) std::this_thread::yield();
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_LE(made, i + 3);
      EXPECT_EQ(stream(), i);
    }
    EXPECT_EQ(stream(), std::nullopt);
    EXPECT_EQ(made, 100);
  }
}

TEST(DataPipeline, AnErrorComesOutInItsTurn) {
  const auto broken = [](int64_t i) {
    check<DataError>(i != 2, "broken at ", i, ".");
    return slow_square(i);
  };
  for (const MapAttrs& way : kWays) {
    // In what is made, and in the source.
    for (const auto& stream :
         {mapped(numbers(0, 9), broken, way),
          mapped(
              mapped(numbers(0, 9), broken), [](int64_t i) { return i; }, way)}) {
      EXPECT_EQ(stream(), 0);
      EXPECT_EQ(stream(), 1);
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(error_of<DataError>([&] { stream(); }), "broken at 2.");
    }
  }
  EXPECT_EQ(error_of<ValueError>([&] {
              mapped(numbers(0, 9), broken, {-1, 2});
            }),
            "mapped: workers and items ahead are counts: -1 and 2. Pass 0 or more.");
}

// An item that is counted while it lives.
struct Counted {
  static inline std::atomic<int> live = 0;
  Counted() { ++live; }
  Counted(const Counted&) { ++live; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --live; }
};

TEST(DataPipeline, StopsAtAnyMomentAndLeavesNothing) {
  for (const MapAttrs& way : kWays)
    for (int taken = 0; taken < 6; ++taken) {
      auto stream = mapped(
          numbers(0, 6), [](int64_t) { return Counted(); }, way);
      auto outer = mapped(
          std::move(stream), [](Counted c) { return c; }, way);
      auto batches = batched(shuffled(std::move(outer), {.buffer = 3}), 2);
      for (int i = 0; i < taken; ++i) EXPECT_EQ(batches().has_value(), i < 3);
    }
  EXPECT_EQ(Counted::live, 0);
}

TEST(DataPipeline, AShuffleIsAFunctionOfSeedAndEpoch) {
  const auto order = [](int64_t buffer, uint64_t seed, uint64_t epoch) {
    return all(shuffled(numbers(0, 100), {buffer, seed, epoch}));
  };
  const auto items = order(10, 1, 0);
  EXPECT_NE(items, first_numbers(100));
  EXPECT_EQ(order(10, 1, 0), items);
  EXPECT_NE(order(10, 1, 1), items);
  EXPECT_NE(order(10, 2, 0), items);
  EXPECT_EQ(order(1, 1, 0), first_numbers(100));
  for (const int64_t buffer : {2, 10, 100, 1000}) {
    const auto some = order(buffer, 1, 0);
    EXPECT_EQ(std::set<int64_t>(some.begin(), some.end()).size(), size_t{100});
    for (int64_t place = 0; place < 100; ++place) EXPECT_LT(some[place], place + buffer);
  }
  // With a buffer for all, each item is equally likely to come first: 2000 times of 4, and the
  // standard deviation is 39.
  std::vector<int> first(4);
  for (uint64_t epoch = 0; epoch < 8000; ++epoch)
    ++first[static_cast<size_t>(*shuffled(numbers(0, 4), {.buffer = 4, .epoch = epoch})())];
  for (const int count : first) EXPECT_NEAR(count, 2000, 200);
  EXPECT_EQ(error_of<ValueError>([&] { order(0, 1, 0); }),
            "shuffled: the buffer holds items: 0. Pass 1 or more.");
}

TEST(DataPipeline, ABatchIsAGroup) {
  using Batches = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(all(batched(numbers(0, 5), 2)), (Batches{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(all(batched(numbers(0, 5), 2, /*drop_last=*/true)), (Batches{{0, 1}, {2, 3}}));
  EXPECT_EQ(all(batched(numbers(3, 5), 2)), (Batches{{3, 4}}));
  EXPECT_EQ(error_of<ValueError>([] { batched(numbers(0, 5), 0); }),
            "batched: a batch needs at least one item: 0. Pass 1 or more.");
}

}  // namespace
}  // namespace plimsoll::data
