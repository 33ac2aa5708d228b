// The exact search: against an optimum found by trying everything, and on hard instances.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "memory/layout/exact_offsets.h"
#include "tests/support/box_packings.h"

namespace plimsoll {
namespace {

// Is there room for boxes[offsets.size()] and all that follow, somewhere below `height`? Tries
// every offset of every box.
bool fits(std::span<const Box> boxes, int64_t height, std::vector<int64_t>& offsets) {
  const size_t i = offsets.size();
  if (i == boxes.size()) return true;
  for (int64_t offset = 0; offset + boxes[i].bytes <= height; ++offset) {
    bool free = true;
    for (size_t k = 0; k < i && free; ++k)
      free = boxes[k].end <= boxes[i].begin || boxes[i].end <= boxes[k].begin ||
             offsets[k] + boxes[k].bytes <= offset || offset + boxes[i].bytes <= offsets[k];
    if (!free) continue;
    offsets.push_back(offset);
    if (fits(boxes, height, offsets)) return true;
    offsets.pop_back();
  }
  return false;
}

// `height` bytes are alive at every moment. Some boxes end, others begin in the bytes that they
// leave, cut up in another way: small, but some do not reach the bound.
std::vector<Box> full_boxes(uint32_t seed, int64_t height, int instants) {
  std::mt19937 random(seed);
  std::vector<Box> boxes;
  std::vector<size_t> alive;
  int64_t free = height;
  for (int t = 0; t < instants; ++t) {
    std::erase_if(alive, [&](size_t i) {
      if (random() % 3) return false;
      boxes[i].end = t;
      free += boxes[i].bytes;
      return true;
    });
    for (; free > 0; free -= boxes.back().bytes) {
      alive.push_back(boxes.size());
      const int64_t bytes = 2 + static_cast<int64_t>(random() % 3);
      boxes.push_back({bytes + 1 < free ? bytes : free, t, instants});
    }
  }
  return boxes;
}

TEST(MemoryExactOffsets, FindsAndProvesTheOptimum) {
  int above_bound = 0;
  constexpr uint32_t kSets = 1000;
  for (uint32_t seed = 0; seed < kSets; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Box> boxes = full_boxes(seed, 9 + seed % 3, 24);
    const int64_t bound = live_peak(boxes).bytes;
    int64_t lowest = bound;
    for (std::vector<int64_t> offsets; !fits(boxes, lowest, offsets);) ++lowest;
    above_bound += lowest > bound;

    const int64_t scale = seed % 3 == 0 ? (int64_t{1} << 54) - 1 : 64;
    Packing start{.offsets = {}, .height = 0, .lower_bound = bound * scale};  // all on one pile
    for (Box& box : boxes) {
      box.bytes *= scale;
      start.offsets.push_back(start.height);
      start.height += box.bytes;
    }
    const Packing packing = tighten(boxes, start, {});
    expect_no_overlap(boxes, packing.offsets);
    EXPECT_EQ(packing.height, lowest * scale);
    EXPECT_EQ(packing.lower_bound, lowest * scale);
    EXPECT_EQ(height_of(boxes, packing.offsets), lowest * scale);
    EXPECT_EQ(place_within(boxes, lowest * scale - 1, {}).answer, Answer::impossible);
    const SearchedOffsets found = place_within(boxes, lowest * scale + 1, {});
    ASSERT_EQ(found.answer, Answer::placed);
    expect_no_overlap(boxes, found.offsets);
    EXPECT_LE(height_of(boxes, found.offsets), lowest * scale);
  }
  EXPECT_GT(above_bound, kSets / 200) << "the boxes are too easy to try anything";
}

TEST(MemoryExactOffsets, PutsCutRectanglesTogether) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Box> boxes = cut_rectangle(seed, 40, 30, 1000);
    const SearchedOffsets found = place_within(boxes, 1000, {.decisions = 1'000'000});
    ASSERT_EQ(found.answer, Answer::placed);
    expect_no_overlap(boxes, found.offsets);
    EXPECT_EQ(height_of(boxes, found.offsets), 1000);
    EXPECT_EQ(place_within(boxes, 999, {}).answer, Answer::impossible);
  }
}

TEST(MemoryExactOffsets, ThreadsDoNotChangeTheAnswer) {
  const std::vector<Box> boxes = cut_rectangle(0, 300, 300, 100'000);
  const SearchedOffsets one = place_within(boxes, 100'000, {});
  ASSERT_EQ(one.answer, Answer::placed);
  EXPECT_GT(one.decisions, 5'000) << "the first search found it: nothing was raced";
  for (const int threads : {2, 5})
    EXPECT_EQ(place_within(boxes, 100'000, {.threads = threads}).offsets, one.offsets) << threads;
}

TEST(MemoryExactOffsets, EffortIsLimited) {
  const std::vector<Box> boxes = cut_rectangle(7, 300, 300, 100'000);
  const SearchedOffsets few = place_within(boxes, 100'000, {.decisions = 20});
  EXPECT_EQ(few.answer, Answer::unknown);
  EXPECT_LE(few.decisions, 21);
  const auto start = std::chrono::steady_clock::now();
  place_within(boxes, 100'000, {.seconds = 0.05, .threads = 2});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));

  const Packing greedy = place(boxes);
  const Packing packing = tighten(boxes, greedy, {.decisions = 3000});
  expect_no_overlap(boxes, packing.offsets);
  EXPECT_LE(packing.height, greedy.height);
  EXPECT_EQ(tighten(boxes, greedy, {.decisions = 3000, .threads = 2}).offsets, packing.offsets);
}

TEST(MemoryExactOffsets, EdgeCases) {
  EXPECT_EQ(place_within({}, 0, {}).answer, Answer::placed);
  const Box one[] = {{.bytes = 7, .begin = 0, .end = 1}};
  EXPECT_EQ(place_within(one, 7, {}).answer, Answer::placed);
  EXPECT_EQ(place_within(one, 6, {}).answer, Answer::impossible);
  EXPECT_EQ(tighten({}, place({}), {}).height, 0);
  const std::vector<Box> many(6000, Box{.bytes = 7, .begin = 0, .end = 1});  // not searched
  const SearchedOffsets found = place_within(many, 42'000, {});
  EXPECT_EQ(found.answer, Answer::placed);
  EXPECT_EQ(height_of(many, found.offsets), 42'000);
  EXPECT_EQ(place_within(many, 41'999, {}).answer, Answer::impossible);
}

// Every instance with its capacity in its name, NAME.CAPACITY.csv.
TEST(MemoryExactOffsets, ForeignInstancesAtTheirCapacity) {
  const char* folder = std::getenv("PLIMSOLL_FOREIGN");
  if (!folder) GTEST_SKIP() << "set PLIMSOLL_FOREIGN to the folder with minimalloc/";
  int seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(folder) + "/minimalloc")) {
    const std::string name = entry.path().filename().string();
    long long capacity = 0;
    if (std::sscanf(name.c_str(), "%*[^.].%lld.csv", &capacity) != 1) continue;
    const std::vector<Box> boxes = read_boxes(entry.path().string());
    const auto start = std::chrono::steady_clock::now();
    const SearchedOffsets found = place_within(boxes, capacity, {.seconds = 60, .threads = 2});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%-20s %4zu buffers %8lld decisions %7.3f s\n", name.c_str(), boxes.size(),
                static_cast<long long>(found.decisions), took.count());
    ASSERT_EQ(found.answer, Answer::placed) << name;
    expect_no_overlap(boxes, found.offsets);
    EXPECT_LE(height_of(boxes, found.offsets), capacity);
    ++seen;
  }
  EXPECT_GE(seen, 6);

  const std::vector<Box> step = read_boxes(std::string(folder) + "/minimalloc/somas_resnet50.csv");
  const Packing packing = tighten(step, place(step), {.seconds = 60});
  expect_no_overlap(step, packing.offsets);
  EXPECT_EQ(packing.height, live_peak(step).bytes);
}

}  // namespace
}  // namespace plimsoll
