// Streams: the same items in the same order for any number of workers, errors in their turn, and
// every way to stop in the middle.
#include "data/pipeline.h"

#include <atomic>
#include <chrono>
#include <numeric>

#include "tests/data/testing.h"

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
      for (int i = 0; i < taken; ++i) EXPECT_TRUE(outer().has_value());
    }
  EXPECT_EQ(Counted::live, 0);
}

}  // namespace
}  // namespace plimsoll::data
