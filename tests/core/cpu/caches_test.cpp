// Caches: what is near or far holds the same bytes.
#include "core/cpu/caches.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

TEST(Caches, BringingNearWritesZerosAndTheOthersKeepTheBytes) {
  for (const int64_t bytes : {0, 1, 63, 64, 65, 200'001}) {
    std::vector<std::byte> data(static_cast<size_t>(bytes) + 2, std::byte{7});
    const std::vector<std::byte> before = data;
    drop_from_caches(data.data() + 1, bytes);
    EXPECT_EQ(data, before);
    bring_near(data.data() + 1, bytes);
    std::vector<std::byte> expected(data.size(), std::byte{0});
    expected.front() = expected.back() = std::byte{7};
    EXPECT_EQ(data, expected);
  }
}

TEST(Caches, EachThreadBringsItsOwn) {
  const int before = num_threads();
  set_num_threads(1);
  const int64_t one = cache_bytes();
  EXPECT_GE(one, 1 << 16);
  set_num_threads(3);
  EXPECT_EQ(cache_bytes(), 3 * one);
  set_num_threads(before);
}

}  // namespace
}  // namespace plimsoll
