// Packing of boxes, verified pair by pair.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "memory/offsets.h"

namespace plimsoll {
namespace {

void verify(std::span<const Box> boxes, const Packing& packing) {
  ASSERT_EQ(packing.offsets.size(), boxes.size());
  int64_t height = 0;
  for (size_t a = 0; a < boxes.size(); ++a) {
    ASSERT_GE(packing.offsets[a], 0);
    height = std::max(height, packing.offsets[a] + boxes[a].bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool share_time =
          std::max(boxes[a].begin, boxes[b].begin) < std::min(boxes[a].end, boxes[b].end);
      const bool share_bytes =
          std::max(packing.offsets[a], packing.offsets[b]) <
          std::min(packing.offsets[a] + boxes[a].bytes, packing.offsets[b] + boxes[b].bytes);
      ASSERT_FALSE(share_time && share_bytes) << "boxes " << b << " and " << a;
    }
  }
  EXPECT_EQ(packing.height, height);
  EXPECT_GE(packing.height, packing.lower_bound);
}

// The most bytes alive, by looking at every instant.
int64_t bound(std::span<const Box> boxes, int instants) {
  int64_t most = 0;
  for (int t = 0; t < instants; ++t) {
    int64_t live = 0;
    for (const Box& box : boxes) live += box.begin <= t && t < box.end ? box.bytes : 0;
    most = std::max(most, live);
  }
  return most;
}

std::vector<Box> random_boxes(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Box> boxes;
  const int n = 1 + static_cast<int>(random() % 150),
            instants = 1 + static_cast<int>(random() % 80);
  for (int i = 0; i < n; ++i) {
    const int begin = static_cast<int>(random() % instants);
    const int length = 1 + static_cast<int>(random() % (random() % 3 ? 4 : instants));
    boxes.push_back({kGranule * (1 + static_cast<int64_t>(random() % 100)), begin, begin + length});
  }
  return boxes;
}

TEST(MemoryOffsets, RandomBoxesNeverOverlap) {
  double ratio = 0;
  constexpr int kSets = 200;
  for (uint32_t seed = 0; seed < kSets; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Box> boxes = random_boxes(seed);
    const Packing packing = place(boxes);
    verify(boxes, packing);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(packing.lower_bound, bound(boxes, 200));
    EXPECT_EQ(place(boxes).offsets, packing.offsets);  // deterministic
    ratio += static_cast<double>(packing.height) / static_cast<double>(packing.lower_bound);
  }
  EXPECT_LT(ratio / kSets, 1.002);
}

TEST(MemoryOffsets, ForwardAndBackwardMeetsTheBound) {
  std::vector<Box> boxes;
  for (int i = 0; i < 100; ++i) boxes.push_back({kGranule * (1 + i * 7 % 13), i, 200 - i});
  const Packing packing = place(boxes);
  verify(boxes, packing);
  EXPECT_EQ(packing.height, packing.lower_bound);
}

TEST(MemoryOffsets, EdgeCases) {
  EXPECT_EQ(place({}).height, 0);
  const Box one[] = {{.bytes = 192, .begin = 3, .end = 4}};
  EXPECT_EQ(place(one).height, 192);
  const Box touching[] = {{128, 0, 2}, {128, 2, 4}};  // half-open: never alive together
  EXPECT_EQ(place(touching).height, 128);
  EXPECT_EQ(live_peak(touching).bytes, 128);
  EXPECT_EQ(live_peak(touching).instant, 0);
}

// A real training step: `id,lower,upper,size` with half-open lifetimes.
TEST(MemoryOffsets, Resnet50OfSomas) {
  const char* folder = std::getenv("PLIMSOLL_FOREIGN");
  if (!folder) GTEST_SKIP() << "set PLIMSOLL_FOREIGN to the folder with minimalloc/";
  std::ifstream file(std::string(folder) + "/minimalloc/somas_resnet50.csv");
  ASSERT_TRUE(file) << "no minimalloc/somas_resnet50.csv in " << folder;
  std::vector<Box> boxes;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    long long id, lower, upper, size;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lld,%lld,%lld,%lld", &id, &lower, &upper, &size), 4);
    boxes.push_back({size, static_cast<int>(lower), static_cast<int>(upper)});
  }
  const Packing packing = place(boxes);
  verify(boxes, packing);
  const double ratio =
      static_cast<double>(packing.height) / static_cast<double>(packing.lower_bound);
  std::printf("somas_resnet50: %zu buffers, arena / lower bound = %.4f\n", boxes.size(), ratio);
  EXPECT_LT(ratio, 1.002);
}

}  // namespace
}  // namespace plimsoll
