// Choosing by time. Part of simulated_cuda_tests, whose events count kernels: a millisecond each.
#include "core/cuda/tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "core/cuda.h"
#include "core/error.h"
#include "core/half.h"
#include "core/storage.h"

namespace plimsoll {
namespace {

using cuda::fastest;
using cuda::Times;

std::optional<size_t> fastest_of(std::initializer_list<double> medians) {
  Times times;
  for (const double seconds : medians) times.push_back({9e9, seconds, 0, seconds, 1e-9});
  return fastest(times);
}

TEST(CudaTuning, TheEarlierOneStaysUnlessAnotherIsFasterByTwoPercent) {
  EXPECT_EQ(fastest_of({1, 2, 3}), 0u);
  EXPECT_EQ(fastest_of({3, 2, 1}), 2u);
  EXPECT_EQ(fastest_of({1, 1, 1}), 0u);
  EXPECT_EQ(fastest_of({1, 0.99}), 0u);
  EXPECT_EQ(fastest_of({1, 0.97}), 1u);
  EXPECT_EQ(fastest_of({100, 98}), 1u);          // at least two
  EXPECT_EQ(fastest_of({1, 0.95, 0.94}), 1u);    // the second does not win by enough
  EXPECT_EQ(fastest_of({1, 0.985, 0.975}), 1u);  // which beats the first, not the second
  EXPECT_EQ(fastest_of({0, 0}), 0u);
  EXPECT_EQ(fastest_of({5}), 0u);
}

TEST(CudaTuning, MediansCountNotMeans) {
  EXPECT_EQ(fastest({{1, 1, 1, 1, 1}, {0.5, 0.5, 100, 0.5, 100}}), 1u);
  EXPECT_EQ(fastest({{1, 1, 1, 1, 1}, {0.1, 0.1, 1.1, 1.1, 1.1}}), 0u);
}

TEST(CudaTuning, WhatCannotRunIsOut) {
  EXPECT_EQ(fastest({{}, {3}, {1}, {}}), 2u);
  EXPECT_EQ(fastest({{}, {}}), std::nullopt);
  EXPECT_EQ(fastest({}), std::nullopt);
}

TEST(CudaTuning, CandidatesRunInTurns) {
  const auto block = Storage::allocate(Device::cuda, 1024, MemoryClass::workspace, "test");
  const std::map<size_t, int> kernels{{0, 3}, {1, 2}, {3, 50}};  // of each candidate; 2 cannot run
  std::vector<size_t> order;
  const Times times = cuda::time_candidates(4, [&](size_t i) {
    order.push_back(i);
    check<DeviceError>(kernels.contains(i), "test: not this one: ", i, ". Leave it out.");
    for (int k = 0; k < kernels.at(i); ++k) cuda::fill_noise(block->data(), 1024);
  });
  EXPECT_EQ(times[0], std::vector<double>(5, 3e-3));
  EXPECT_EQ(times[1].size(), 5u);
  EXPECT_TRUE(times[2].empty());
  EXPECT_EQ(times[3].size(), 1u);  // hopeless
  EXPECT_EQ(fastest(times), 1u);
  const std::vector<size_t> turns{0, 1, 2, 3, 0, 1, 3, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_EQ(order, turns);  // each takes longer than one measurement has to
}

TEST(CudaTuning, NoiseIsMadeOfOrdinaryNumbers) {
  constexpr int64_t kBytes = 40003;
  const auto block = Storage::allocate(Device::cuda, kBytes, MemoryClass::workspace, "test");
  std::memset(block->data(), 0, kBytes);
  cuda::fill_noise(block->data(), kBytes);
  cuda_api().synchronize();
  const auto check_all = [&]<class T>(T) {
    int64_t negative = 0;
    std::map<double, int> values;
    for (int64_t i = 0; i < 40000 / static_cast<int64_t>(sizeof(T)); ++i) {
      T value;
      std::memcpy(&value, block->data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      const double x = static_cast<double>(static_cast<float>(value));
      EXPECT_LT(std::abs(x), 1);
      EXPECT_GE(std::abs(x), std::ldexp(1.0, -15));
      negative += x < 0;
      ++values[x];
    }
    const auto n = static_cast<double>(40000 / sizeof(T));
    EXPECT_NEAR(static_cast<double>(negative) / n, 0.5, 0.02);
    EXPECT_GT(values.size(), 900u);
  };
  check_all(Half());
  check_all(BFloat16());
  check_all(float());
  for (int64_t i = kBytes / 4 * 4; i < kBytes; ++i) EXPECT_EQ(block->data()[i], std::byte{0});
}

}  // namespace
}  // namespace plimsoll
