// The vectorisable functions of core/base/math.h against libm in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/math.h"

namespace plimsoll {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Calls f(x) for a dense walk over the floats of both signs up to `limit`.
template <class F>
void walk(float limit, F&& f) {
  for (uint32_t word = 0; word <= std::bit_cast<uint32_t>(limit); word += 4093) {  // a prime step
    f(std::bit_cast<float>(word));
    f(-std::bit_cast<float>(word));
  }
}

TEST(Math, ErfIsWithinItsBound) {
  double worst = 0;
  walk(10, [&](float x) {
    worst = std::max(worst, std::abs(math::erf(x) - std::erf(static_cast<double>(x))));
  });
  EXPECT_LE(worst, 1e-7);
  EXPECT_EQ(math::erf(kInfinity), 1);
  EXPECT_EQ(math::erf(-kInfinity), -1);
  EXPECT_TRUE(std::isnan(math::erf(std::nanf(""))));
}

TEST(Math, ExpIsWithinItsBound) {
  double worst = 0;
  walk(87, [&](float x) {
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(math::exp(x) - exact) / exact);
  });
  EXPECT_LE(worst, 1e-7);
  EXPECT_EQ(math::exp(-kInfinity), 0);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::exp(std::nanf(""))));
}

TEST(Math, ExpOfNegativeIsWithinItsBound) {
  double worst = 0;
  walk(87, [&](float x) {
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(math::exp_of_negative(x) - exact) / exact);
  });
  EXPECT_LE(worst, 1e-7);
  EXPECT_EQ(math::exp_of_negative(0.0f), 1);
  for (const float x : {-88.0f, -89.0f, -1e30f, -kInfinity}) EXPECT_EQ(math::exp_of_negative(x), 0);
  EXPECT_TRUE(std::isnan(math::exp_of_negative(std::nanf(""))));
}

TEST(Math, Expm1IsWithinItsBound) {
  double worst = 0;
  walk(87, [&](float x) {
    const double exact = std::expm1(static_cast<double>(x));
    if (x != 0) worst = std::max(worst, std::abs((math::expm1(x) - exact) / exact));
  });
  EXPECT_LE(worst, 3e-7);
  EXPECT_EQ(math::expm1(0.0f), 0);
  EXPECT_EQ(math::expm1(-kInfinity), -1);
  EXPECT_EQ(math::expm1(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::expm1(std::nanf(""))));
}

TEST(Math, LogOnePlusIsWithinItsBound) {
  double worst = 0;
  walk(1, [&](float e) {
    const double exact = std::log1p(static_cast<double>(e));
    if (e > 1e-37f)  // subnormal numbers have fewer digits
      worst = std::max(worst, std::abs(math::log_one_plus(e) - exact) / exact);
  });
  EXPECT_LE(worst, 2e-7);
}

TEST(Math, SinAndCosAreWithinTheirBound) {
  double worst_sin = 0, worst_cos = 0, worst_small = 0;
  walk(math::kSinReach, [&](float x) {
    const double s = std::sin(static_cast<double>(x)), c = std::cos(static_cast<double>(x));
    worst_sin = std::max(worst_sin, std::abs(math::sin(x) - s));
    worst_cos = std::max(worst_cos, std::abs(math::cos(x) - c));
    if (x != 0 && std::abs(x) < 0.5)
      worst_small = std::max(worst_small, std::abs((math::sin(x) - s) / s));
  });
  EXPECT_LE(worst_sin, 1e-7);
  EXPECT_LE(worst_cos, 1e-7);
  EXPECT_LE(worst_small, 1.5e-7);
  // Where the reduction has the fewest digits left: the floats next to multiples of pi / 2.
  double worst_near = 0;
  for (int k = 1; k <= 8148; ++k) {
    const float x = static_cast<float>(k * 1.57079632679489662);
    const double s = std::sin(static_cast<double>(x)), c = std::cos(static_cast<double>(x));
    worst_near = std::max({worst_near, std::abs(math::sin(x) - s), std::abs(math::cos(x) - c)});
  }
  EXPECT_LE(worst_near, 1e-7);
  EXPECT_TRUE(std::isnan(math::sin(kInfinity)));
  EXPECT_TRUE(std::isnan(math::cos(std::nanf(""))));
}

}  // namespace
}  // namespace plimsoll
