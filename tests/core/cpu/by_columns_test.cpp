// Loops down columns, where those of bfloat16 are taken apart into even and odd ones.
#include "core/cpu/by_columns.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/dtype.h"

namespace plimsoll {
namespace {

constexpr int64_t kRows = 3;

// Each column has a parameter of its own and a sum of its own. The numbers are small integers, of
// which no sum is rounded.
template <class T, class P, class Sum>
void expect_columns_alike() {
  constexpr int64_t kColumns = 7 * kLanes<Sum> + 5;  // four vectors, two, one, and what is left
  const auto size = static_cast<size_t>(kColumns);
  std::vector<T> x(kRows * size), y(kRows * size);
  std::vector<P> parameter(size);
  std::vector<double> sums(size, 1);
  const auto value = [](int64_t row, int64_t c) { return static_cast<float>((row * 5 + c) % 11); };
  for (int64_t c = 0; c < kColumns; ++c) {
    parameter[static_cast<size_t>(c)] = static_cast<P>(c % 7);
    for (int64_t row = 0; row < kRows; ++row)
      x[static_cast<size_t>(row * kColumns + c)] = static_cast<T>(value(row, c));
  }
  by_columns<Sum>(kColumns, [&]<class V, int W>(int64_t c) {
    V p[W], v[W], sum[W] = {};
    load_columns<T>(parameter.data() + c, p);
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t at = row * kColumns + c;
      load_columns<T>(x.data() + at, v);
      for (int w = 0; w < W; ++w) {
        v[w] = v[w] * p[w];
        sum[w] += v[w];
      }
      store_columns<T>(y.data() + at, v);
    }
    store_columns<T>(sums.data() + c, sum);
    add_to_columns<T>(sums.data() + c, sum);
  });
  for (int64_t c = 0; c < kColumns; ++c) {
    double sum = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      const float expected = value(row, c) * static_cast<float>(c % 7);
      EXPECT_EQ(static_cast<float>(y[static_cast<size_t>(row * kColumns + c)]), expected) << c;
      sum += static_cast<double>(expected);
    }
    EXPECT_EQ(sums[static_cast<size_t>(c)], 2 * sum) << c;
  }
}

TEST(ByColumns, ParametersAndSumsLieAsTheDataDoes) {
  expect_columns_alike<BFloat16, float, float>();
  expect_columns_alike<Half, float, float>();
  expect_columns_alike<float, float, float>();
  expect_columns_alike<float, float, double>();
  expect_columns_alike<double, double, double>();
}

}  // namespace
}  // namespace plimsoll
