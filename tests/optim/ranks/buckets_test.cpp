// Buckets: the last layers first, one type and group each, equal parts, and the same places for any
// number of ranks.
#include "optim/ranks/buckets.h"

#include <gtest/gtest.h>

#include "ops/ops.h"

namespace plimsoll::optim {
namespace {

std::vector<Tensor> of_sizes(std::initializer_list<int64_t> sizes) {
  std::vector<Tensor> all;
  for (const int64_t size : sizes) all.push_back(zeros({size}));
  return all;
}

using Numbers = std::vector<size_t>;
using Places = std::vector<int64_t>;

TEST(Buckets, BeginWithTheLastLayers) {
  const std::vector<Tensor> parameters = of_sizes({3000, 70, 5000, 10});
  const std::vector<Bucket> buckets = buckets_of(parameters, {}, 4);
  ASSERT_EQ(buckets.size(), 2U);  // 16 KiB, 4096 elements, are enough for one
  EXPECT_EQ(buckets[0].parameters, (Numbers{3, 2}));
  EXPECT_EQ(buckets[0].offsets, (Places{0, 64}));
  EXPECT_EQ(buckets[0].filled, 5064);
  EXPECT_EQ(buckets[0].count, 5120);  // the next multiple of 4 x 64
  EXPECT_EQ(buckets[1].parameters, (Numbers{1, 0}));
  EXPECT_EQ(buckets[1].offsets, (Places{0, 128}));
}

// Nothing is computed while the last one is exchanged.
TEST(Buckets, AreSmallerAtTheEnd) {
  const std::vector<Bucket> buckets = buckets_of(std::vector<Tensor>(200, zeros({5000})), {}, 2);
  std::vector<size_t> parameters;
  for (const Bucket& bucket : buckets) parameters.push_back(bucket.parameters.size());
  const std::vector<size_t> end(parameters.end() - 5, parameters.end());
  EXPECT_EQ(parameters.front(), 13U);                     // a sixteenth of 200
  EXPECT_EQ(end, (std::vector<size_t>{11, 7, 5, 4, 4}));  // down to a 64th
}

TEST(Buckets, HaveOneTypeAndGroup) {
  std::vector<Tensor> parameters = of_sizes({9, 9, 9, 9});
  parameters[2] = zeros({9}, {DType::bf16});
  const Numbers groups{0, 1, 0, 0};
  const std::vector<Bucket> buckets = buckets_of(parameters, groups, 2);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].parameters, (Numbers{3, 0}));
  EXPECT_EQ(buckets[1].parameters, (Numbers{2}));
  EXPECT_EQ(buckets[1].dtype, DType::bf16);
  EXPECT_EQ(buckets[2].parameters, (Numbers{1}));
  EXPECT_EQ(buckets[2].group, 1U);
}

// Padding is less than a chunk for each parameter and for each rank.
TEST(Buckets, HaveTheSamePlacesOnAnyNumberOfRanks) {
  const std::vector<Tensor> parameters = of_sizes({40000, 1, 300000, 0, 17, 2000000, 123, 64});
  const std::vector<Bucket> one = buckets_of(parameters, {}, 1);
  EXPECT_GT(one.size(), 2U);
  for (const int64_t ranks : {2, 3, 8, 64}) {
    const std::vector<Bucket> some = buckets_of(parameters, {}, ranks);
    ASSERT_EQ(some.size(), one.size());
    for (size_t b = 0; b < one.size(); ++b) {
      EXPECT_EQ(some[b].parameters, one[b].parameters);
      EXPECT_EQ(some[b].offsets, one[b].offsets);
      EXPECT_EQ(some[b].filled, one[b].filled);
      EXPECT_EQ(some[b].count % (ranks * Bucket::kChunk), 0);
      EXPECT_LT(some[b].count - some[b].filled, ranks * Bucket::kChunk);
    }
  }
}

}  // namespace
}  // namespace plimsoll::optim
