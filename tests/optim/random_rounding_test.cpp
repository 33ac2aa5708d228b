// bf16 parameters that are rounded at random: unbiased, the same in every run, and what it brings.
#include "ops/common/random_rounding.h"

#include <gtest/gtest.h>

#include "autograd/gradients.h"
#include "core/cpu/threads.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/eight_bit.h"
#include "optim/sgd.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

TEST(RandomRounding, IsOneOfTheTwoBesideAndTheNumberInTheMean) {
  for (const float x : {1.0F, 1.001F, -0.30078F, 3.14159e-5F, -7.0e20F, 1e-40F}) {
    const float below = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffff0000U);
    const float above = std::bit_cast<float>((std::bit_cast<uint32_t>(x) & 0xffff0000U) + 0x10000U);
    double sum = 0;
    constexpr int kDraws = 40000;
    for (uint64_t i = 0; i < kDraws; ++i) {
      const float y = rounded_at_random(x, random_words(1, 2, i)[0]);
      ASSERT_TRUE(y == below || (y == above && x != below)) << x << " " << y;
      sum += y;
    }
    // Four standard deviations of the mean of so many, of at most half a step each.
    const double step = std::abs(static_cast<double>(above) - below);
    EXPECT_NEAR(sum / kDraws, x, 4 * 0.5 * step / std::sqrt(kDraws)) << x;
  }
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded_at_random(-inf, 0xffffffffU), -inf);
  EXPECT_TRUE(std::isnan(rounded_at_random(std::nanf(""), 0xffffffffU)));
}

// Ten parameters of 1 that each step would lower by a hundredth of what bf16 can tell.
Tensor lowered(const optim::SgdOptions& options, int steps) {
  const Tensor w = ones({1000}, {.dtype = DType::bf16});
  optim::SGD optimizer({w}, options);
  for (int t = 0; t < steps; ++t) optimizer.update(std::array{full({1000}, 1, {DType::bf16})});
  return w;
}

TEST(RandomRounding, KeepsUpdatesThatAreTooSmallForOne) {
  const double rate = 0x1p-8 / 100;
  const Tensor nearest = lowered({.learning_rate = rate}, 200);
  EXPECT_EQ(nearest.to_vector<float>(), std::vector<float>(1000, 1.0F));  // nothing has moved
  const Tensor random = lowered({.learning_rate = rate, .rounding_seed = 5}, 200);
  EXPECT_NEAR(mean(cast(random, DType::f64)).item(), 1 - 200 * rate, 2e-4);
  EXPECT_TRUE(same_bits(random, lowered({.learning_rate = rate, .rounding_seed = 5}, 200)));
  EXPECT_FALSE(same_bits(random, lowered({.learning_rate = rate, .rounding_seed = 6}, 200)));
}

TEST(RandomRounding, IsTheSameOnAnyNumberOfThreadsAndInASteps) {
  const int threads = num_threads();
  std::vector<Tensor> results;
  for (const int n : {1, 3}) {
    set_num_threads(n);
    for (const bool captured : {false, true}) {
      const Tensor w = normal({300, 211}, 0, 1, 3, {DType::bf16}).require_grad();
      optim::AdamW8bit optimizer({w}, {.rounding_seed = 9});
      const auto update = [&](const Tensor& x) {
        const Tensor loss = sum(tanh(matmul(x, w)));
        optimizer.update(gradients(loss, std::array{w}));
        return loss;
      };
      Step step(update);
      for (uint64_t t = 0; t < 3; ++t) {
        const Tensor x = normal({7, 300}, 0, 1, 20 + t, {DType::bf16});
        captured ? step(x) : update(x);
      }
      results.push_back(w.detach());
    }
  }
  set_num_threads(threads);
  for (const Tensor& other : results) EXPECT_TRUE(same_bits(other, results[0]));
}

// A regression by a linear map: the distance of bf16 weights from those that f32 finds.
double distance_from_f32(uint64_t rounding_seed) {
  std::vector<Tensor> found;
  const Tensor truth = normal({64, 8}, 0, 1, 1);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor w = zeros({64, 8}, {.dtype = dtype}).require_grad();
    optim::AdamW optimizer({w}, {.learning_rate = 2e-3, .rounding_seed = rounding_seed});
    for (uint64_t t = 0; t < 1500; ++t) {
      const Tensor x = normal({32, 64}, 0, 1, 100 + t);
      const Tensor y = matmul(cast(x, dtype), w);
      const Tensor loss = mse_loss(cast(y, DType::f32), matmul(x, truth));
      optimizer.update(gradients(loss, std::array{w}));
    }
    found.push_back(cast(w.detach(), DType::f32));
  }
  return relative_error(to_array(found[1]), to_array(found[0]));
}

TEST(RandomRounding, BringsTrainingInBf16NearerToF32) {
  const double nearest = distance_from_f32(0), random = distance_from_f32(7);
  EXPECT_LT(random, 0.7 * nearest) << nearest;
  std::printf("distance from f32: to the nearest %.4f, at random %.4f\n", nearest, random);
}

}  // namespace
}  // namespace plimsoll
