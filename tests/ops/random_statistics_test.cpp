// Dropout and random tensors as distributions: bounds of five standard deviations, which chance
// exceeds once in 1.7 million.
#include <gtest/gtest.h>

#include "core/cpu/parallel.h"
#include "ops/random/dropout/dropout.h"
#include "ops/random/random/random.h"

namespace plimsoll {
namespace {

constexpr int64_t kN = 200000;

std::vector<double> mask(double p, uint64_t seed, uint64_t step, uint64_t site) {
  return dropout(ones({kN}), p, make_key(seed, step), site).to_vector<double>();
}

double mean_of(const std::vector<double>& values) {
  double total = 0;
  for (const double v : values) total += v;
  return total / static_cast<double>(values.size());
}

// Share of places where two masks agree.
double agreement(const std::vector<double>& a, const std::vector<double>& b) {
  double same = 0;
  for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  return same / static_cast<double>(a.size());
}

TEST(Dropout, KeepsTheRightShareAndTheMean) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<double> y = mask(p, 3, 1, 0);
    double kept = 0;
    for (const double v : y) kept += v != 0;
    const double sigma = std::sqrt(p * (1 - p) / kN);
    EXPECT_NEAR(kept / kN, 1 - p, 5 * sigma);
    EXPECT_NEAR(mean_of(y), 1, 5 * sigma / (1 - p));
  }
}

TEST(Dropout, OneKeyOneMask) { EXPECT_EQ(mask(0.5, 3, 1, 2), mask(0.5, 3, 1, 2)); }

TEST(Dropout, AnotherSeedStepOrSiteIsAnIndependentMask) {
  const std::vector<double> y = mask(0.5, 3, 1, 2);
  const double five_sigma = 5 * std::sqrt(0.25 / kN);
  EXPECT_NEAR(agreement(y, mask(0.5, 4, 1, 2)), 0.5, five_sigma);
  EXPECT_NEAR(agreement(y, mask(0.5, 3, 2, 2)), 0.5, five_sigma);
  EXPECT_NEAR(agreement(y, mask(0.5, 3, 1, 3)), 0.5, five_sigma);
}

TEST(Dropout, NeighboursAreIndependent) {
  std::vector<double> y = mask(0.5, 3, 1, 2);
  std::vector<double> moved(y.begin() + 1, y.end());
  y.pop_back();
  EXPECT_NEAR(agreement(y, moved), 0.5, 5 * std::sqrt(0.25 / kN));
}

TEST(Uniform, HasItsMomentsAndStaysInside) {
  const std::vector<double> y = uniform({kN}, -1, 3, 5, {.dtype = DType::f64}).to_vector<double>();
  double square = 0;
  for (const double v : y) {
    ASSERT_GE(v, -1);
    ASSERT_LT(v, 3);
    square += (v - 1) * (v - 1) / kN;
  }
  EXPECT_NEAR(mean_of(y), 1, 5 * std::sqrt(16. / 12 / kN));
  EXPECT_NEAR(square, 16. / 12, 5 * std::sqrt((256. / 80 - 256. / 144) / kN));
}

TEST(Normal, HasItsMoments) {
  std::vector<double> y = normal({kN}, 2, 3, 5, {.dtype = DType::f64}).to_vector<double>();
  double moment[5] = {};
  for (const double v : y)
    for (int k = 1; k <= 4; ++k) moment[k] += std::pow((v - 2) / 3, k) / kN;
  EXPECT_NEAR(moment[1], 0, 5 * std::sqrt(1. / kN));
  EXPECT_NEAR(moment[2], 1, 5 * std::sqrt(2. / kN));
  EXPECT_NEAR(moment[3], 0, 5 * std::sqrt(15. / kN));
  EXPECT_NEAR(moment[4], 3, 5 * std::sqrt(96. / kN));
}

TEST(Random, ValuesDependOnTheKeyAndNotOnTheDtypeOrTheShape) {
  const std::vector<double> wide = normal({64}, 0, 1, 9, {.dtype = DType::f64}).to_vector<double>();
  const std::vector<float> narrow = normal({8, 8}, 0, 1, 9).to_vector<float>();
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(narrow[i], static_cast<float>(wide[i]));
  EXPECT_NE(narrow, normal({8, 8}, 0, 1, 10).to_vector<float>());
  EXPECT_NE(uniform({64}, 0, 1, 9).to_vector<float>(), uniform({64}, 0, 1, 10).to_vector<float>());
}

}  // namespace
}  // namespace plimsoll
