// Packing of boxes, verified pair by pair.
#include <gtest/gtest.h>

#include "tests/support/box_packings.h"

namespace plimsoll {
namespace {

void verify(std::span<const Box> boxes, const Packing& packing) {
  expect_no_overlap(boxes, packing.offsets);
  EXPECT_EQ(packing.height, height_of(boxes, packing.offsets));
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

// Most live shortly, some through most of the time.
TEST(MemoryOffsets, ManyRandomBoxesNeverOverlap) {
  for (const uint32_t seed : {1, 2, 3}) {
    std::mt19937 random(seed);
    std::vector<Box> boxes;
    for (int i = 0; i < 1500; ++i) {
      const int begin = static_cast<int>(random() % 900) - 450;
      const int length = 1 + static_cast<int>(random() % (random() % 20 ? 12 : 900));
      boxes.push_back(
          {kGranule * (1 + static_cast<int64_t>(random() % 100)), begin, begin + length});
    }
    verify(boxes, place(boxes));
  }
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

// Layers that repeat, 5,000 to 50,000 boxes.
TEST(MemoryOffsets, LargeLanguageModelsNearlyMeetTheBound) {
  for (const int layers : {75, 270, 700}) {
    const std::vector<Box> boxes = language_model(static_cast<uint32_t>(layers), layers);
    const Packing packing = place(boxes);
    expect_no_overlap_in_time(boxes, packing.offsets);
    EXPECT_EQ(packing.height, height_of(boxes, packing.offsets));
    const double ratio =
        static_cast<double>(packing.height) / static_cast<double>(packing.lower_bound);
    std::printf("%d layers, %zu boxes: arena / lower bound = %.5f\n", layers, boxes.size(), ratio);
    EXPECT_LT(ratio, 1.002);
  }
}

TEST(MemoryOffsets, AMillionBoxesArePlacedInTheOrderOfTime) {
  const std::vector<Box> boxes = language_model(1, 15'000);
  ASSERT_GT(boxes.size(), 1'000'000U);
  const Packing packing = place(boxes);
  expect_no_overlap_in_time(boxes, packing.offsets);
  EXPECT_LT(static_cast<double>(packing.height), 1.05 * static_cast<double>(packing.lower_bound));
}

TEST(MemoryOffsets, RandomBoxesInTheOrderOfTimeNeverOverlap) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<Box> many = random_boxes(seed);
    const Packing packing = place(many, 0);
    expect_no_overlap(many, packing.offsets);
    ASSERT_FALSE(HasFatalFailure()) << seed;
  }
}

// No order is tried after one that is low enough.
TEST(MemoryOffsets, EnoughIsEnough) {
  const std::vector<Box> boxes = language_model(1, 20);
  constexpr int64_t kPairs = 100'000'000;
  const Packing lowest = place(boxes, kPairs);
  for (const double times : {1.0, 1.01, 2.0}) {
    const auto enough = static_cast<int64_t>(times * static_cast<double>(lowest.height));
    const Packing packing = place(boxes, kPairs, enough);
    verify(boxes, packing);
    EXPECT_LE(packing.height, enough);
    EXPECT_EQ(packing.offsets == lowest.offsets, times == 1.0);
  }
}

TEST(MemoryOffsets, Resnet50OfSomas) {  // a real training step
  const char* folder = std::getenv("PLIMSOLL_FOREIGN");
  if (!folder) GTEST_SKIP() << "set PLIMSOLL_FOREIGN to the folder with minimalloc/";
  const std::vector<Box> boxes = read_boxes(std::string(folder) + "/minimalloc/somas_resnet50.csv");
  const Packing packing = place(boxes);
  verify(boxes, packing);
  const double ratio =
      static_cast<double>(packing.height) / static_cast<double>(packing.lower_bound);
  std::printf("somas_resnet50: %zu buffers, arena / lower bound = %.4f\n", boxes.size(), ratio);
  EXPECT_LT(ratio, 1.005);  // tighten() meets the bound
}

}  // namespace
}  // namespace plimsoll
