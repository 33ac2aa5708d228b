// f16 and bf16 against Eigen's: every 16-bit pattern, and a dense walk over f32.
#include <gtest/gtest.h>

#include <Eigen/Core>

#include "core/base/dtype.h"

namespace plimsoll {
namespace {

TEST(DType, EveryHalfWidensAsEigenDoes) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half ours;
    ours.bits = static_cast<uint16_t>(bits);
    const auto theirs = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(ours.bits));
    if (std::isnan(theirs)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(ours))) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(ours)), std::bit_cast<uint32_t>(theirs))
          << bits;
    }
  }
}

TEST(DType, FloatsRoundAsEigensDo) {
  for (uint64_t word = 0; word < (uint64_t{1} << 32); word += 4093) {  // a prime step
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(word));
    const Eigen::half half(x);
    const Eigen::bfloat16 brain(x);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(x))));
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(x))));
    } else {
      ASSERT_EQ(Half(x).bits, Eigen::numext::bit_cast<uint16_t>(half)) << x;
      ASSERT_EQ(BFloat16(x).bits, Eigen::numext::bit_cast<uint16_t>(brain)) << x;
    }
  }
}

// The values between two neighbouring halves, where rounding is decided.
TEST(DType, HalfwayCasesRoundToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    Half low, high;
    low.bits = static_cast<uint16_t>(bits);
    high.bits = static_cast<uint16_t>(bits + 1);
    const float middle = (static_cast<float>(low) + static_cast<float>(high)) / 2;
    EXPECT_EQ(Half(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(Half(std::nextafter(middle, 0.0f)).bits, bits);
    EXPECT_EQ(Half(std::nextafter(middle, 1e9f)).bits, bits + 1);
  }
}

TEST(DType, VisitFloatingRefusesIntegers) {
  try {
    visit_floating("exp", DType::i32, []<class T>() {});
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "exp: a floating type is needed: got i32. Cast it first.");
  }
}

}  // namespace
}  // namespace plimsoll
