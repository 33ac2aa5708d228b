// Vectors of 16-bit numbers against the conversions of one.
#include "core/cpu/vector.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "core/base/dtype.h"
#include "core/cpu/shuffle.h"

namespace plimsoll {
namespace {

// The bits of lane number `lane`: NaN is compared, too.
template <class V>
auto bits_of(const V& v, int64_t lane) {
  using C = typename ScalarOf<V>::type;
  return std::bit_cast<std::conditional_t<sizeof(C) == 4, uint32_t, uint64_t>>(C(v[lane]));
}

template <class T, class V>
void expect_loads() {
  using C = typename ScalarOf<V>::type;
  std::vector<T> all(size_t{1} << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  for (size_t first = 0; first < all.size(); first += kLanesOf<V>) {
    const V v = load_as<V>(&all[first]);
    for (int64_t lane = 0; lane < kLanesOf<V>; ++lane) {
      const C one = load_as<C>(&all[first + static_cast<size_t>(lane)]);
      ASSERT_EQ(bits_of(v, lane), std::bit_cast<decltype(bits_of(v, lane))>(one)) << first + lane;
    }
  }
}

template <class T>
void expect_stores() {
  using V = Vector<float>;
  constexpr int64_t lanes = kLanesOf<V>;
  T two[2 * lanes], together[lanes], one;
  uint32_t words[2 * lanes];
  for (uint64_t first = 0; first < (uint64_t{1} << 32); first += 4093 * 2 * lanes) {
    for (int64_t i = 0; i < 2 * lanes; ++i)
      words[i] = static_cast<uint32_t>(first + 4093 * static_cast<uint64_t>(i));
    store_two(two, load<V>(words), load<V>(words + lanes));
    store_as(together, load<V>(words + lanes));
    for (int64_t i = 0; i < 2 * lanes; ++i) {
      store_as(&one, std::bit_cast<float>(words[i]));
      ASSERT_EQ(two[i].bits, one.bits) << words[i];
    }
    for (int64_t i = 0; i < lanes; ++i)
      ASSERT_EQ(together[i].bits, two[i + lanes].bits) << words[i + lanes];
  }
}

TEST(LoadAs, EveryNumberOf16BitsWidensAsAlone) {
  expect_loads<Half, Vector<float>>();
  expect_loads<Half, Vector<double>>();
  expect_loads<BFloat16, Vector<float>>();
  expect_loads<BFloat16, Vector<double>>();
}

TEST(LoadAs, FloatsRoundAsAlone) {
  expect_stores<Half>();
  expect_stores<BFloat16>();
}

TEST(LoadAs, F64TakesAndGivesF32) {
  float before[kLanes<double>], after[kLanes<double>];
  for (int64_t i = 0; i < kLanes<double>; ++i) before[i] = 1 + 0.1f * static_cast<float>(i);
  const auto wide = load_as<Vector<double>>(before);
  store_as(after, wide * 1.1);
  for (int64_t i = 0; i < kLanes<double>; ++i) {
    EXPECT_EQ(wide[i], static_cast<double>(before[i]));
    EXPECT_EQ(after[i], static_cast<float>(static_cast<double>(before[i]) * 1.1));
  }
}

TEST(ZeroUnless, ChoosesNumbersAndVectors) {
  const float nan = std::bit_cast<float>(0x7fc00001u);
  EXPECT_EQ(zero_unless(true, -2.5f), -2.5f);
  EXPECT_EQ(std::bit_cast<uint32_t>(zero_unless(false, nan)), 0u);
  EXPECT_EQ(std::bit_cast<uint64_t>(zero_unless(false, -1.0)), 0u);
  Vector<float> v;
  for (int64_t i = 0; i < kLanes<float>; ++i) v[i] = static_cast<float>(i) - 2;
  const Vector<float> positive = zero_unless(v > 0, v);
  for (int64_t i = 0; i < kLanes<float>; ++i) EXPECT_EQ(positive[i], i > 2 ? v[i] : 0);
}

}  // namespace
}  // namespace plimsoll
