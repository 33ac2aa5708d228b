// The vectorisable functions of core/cpu/math.h against libm in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/cpu/math.h"

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

}  // namespace
}  // namespace plimsoll
