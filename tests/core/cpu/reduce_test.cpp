// Sums and maxima in vectors against plain loops, for lengths on both sides of whole vectors.
#include "core/cpu/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/base/dtype.h"

namespace plimsoll {
namespace {

template <class T, class Stored>
void expect_reductions() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  constexpr double kTolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;
  for (int64_t n = 0; n <= 70; ++n) {
    std::vector<Stored> x(static_cast<size_t>(n));
    double sum = 0, squares = 0;
    T highest = -std::numeric_limits<T>::infinity(), lowest = -highest;
    for (Stored& value : x) {
      value = static_cast<Stored>(normal(random) - 2);  // most are below 0, where vectors start
      const T v = static_cast<T>(value);
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
      highest = std::max(highest, v);
      lowest = std::min(lowest, v);
    }
    const auto [a, b] = sums_of<T, 2>(n, [&]<class V>(int64_t i) {
      const V v = load_as<V>(x.data() + i);
      return std::array<V, 2>{v, v * v};
    });
    EXPECT_NEAR(a, sum, kTolerance * (1 + squares)) << n;
    EXPECT_NEAR(b, squares, kTolerance * (1 + squares)) << n;
    const auto value = [&]<class V>(int64_t i) { return load_as<V>(x.data() + i); };
    EXPECT_EQ(sum_of<T>(n, value), a) << n;
    EXPECT_EQ(max_of<T>(n, value), highest) << n;
    const auto [most, least] = maxima_of<T, 2>(n, [&]<class V>(int64_t i) {
      const V v = load_as<V>(x.data() + i);
      return std::array<V, 2>{v, -v};
    });
    EXPECT_EQ(most, highest) << n;
    EXPECT_EQ(-least, lowest) << n;
  }
}

TEST(Reduce, EqualsPlainLoops) {
  expect_reductions<float, float>();
  expect_reductions<double, double>();
  expect_reductions<double, float>();
  expect_reductions<float, Half>();
  expect_reductions<float, BFloat16>();
  expect_reductions<double, BFloat16>();
}

TEST(Reduce, MaximaPassOverNaNs) {
  constexpr int64_t kCount = 70;
  for (int64_t nan = 0; nan < kCount; ++nan) {
    std::vector<float> x(kCount, std::numeric_limits<float>::quiet_NaN());
    x[static_cast<size_t>(nan)] = -3;
    EXPECT_EQ(max_of<float>(kCount, [&]<class V>(int64_t i) { return load_as<V>(x.data() + i); }),
              -3);
    x.assign(kCount, -3);
    x[static_cast<size_t>(nan)] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(max_of<float>(kCount, [&]<class V>(int64_t i) { return load_as<V>(x.data() + i); }),
              -3);
  }
}

}  // namespace
}  // namespace plimsoll
