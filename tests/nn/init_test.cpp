// Initialisers: bounds, mean and variance against the published formulas, on some 2e5 draws.
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

const Shape kWeight{400, 500};       // [O, I]
const Shape kFilter{64, 5, 5, 128};  // [O, KH, KW, I]: fans 3200 and 1600

struct Moments {
  double mean = 0, variance = 0, low = INFINITY, high = -INFINITY;
};

Moments moments(const Tensor& x) {
  Moments m;
  const Doubles all = values(x);
  for (const double v : all) {
    m.mean += v / static_cast<double>(all.size());
    m.low = std::min(m.low, v);
    m.high = std::max(m.high, v);
  }
  for (const double v : all) m.variance += (v - m.mean) * (v - m.mean) / double(all.size());
  return m;
}

// Allowed: five standard deviations of the mean and of the variance of n draws (those of a normal
// distribution; the others spread less).
void expect_moments(const Tensor& x, double variance, double bound = INFINITY) {
  const Moments m = moments(x);
  const auto n = static_cast<double>(x.count());
  EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(m.variance / variance, 1, 5 * std::sqrt(2 / n));
  EXPECT_LE(std::max(-m.low, m.high), bound * (1 + 1e-6));
  if (bound == INFINITY) return;
  EXPECT_GE(std::min(-m.low, m.high), 0.99 * bound);  // and it is reached
}

TEST(NnInit, Constants) {
  const Initializer init{.placement = kDouble};
  EXPECT_EQ(values(init::zeros({2}, init)), (Doubles{0, 0}));
  EXPECT_EQ(values(init::ones({2}, init)), (Doubles{1, 1}));
  EXPECT_EQ(init::ones({2}, init).dtype(), DType::f64);
}

TEST(NnInit, Fans) {
  EXPECT_EQ(init::fans(kWeight).in, 500);
  EXPECT_EQ(init::fans(kWeight).out, 400);
  EXPECT_EQ(init::fans(kFilter).in, 3200);
  EXPECT_EQ(init::fans(kFilter).out, 1600);
  EXPECT_EQ(error_of<ShapeError>([] { init::fans({3}); }),
            "fans: a weight has at least two axes: got [3]. Use [O, I] or [O, KH, KW, I].");
}

TEST(NnInit, Moments) {
  Initializer init{.seed = 5};
  expect_moments(init::uniform(kWeight, -0.3, 0.3, init), 0.3 * 0.3 / 3, 0.3);
  expect_moments(init::normal(kWeight, 0.2, init), 0.04);
  expect_moments(init::xavier_uniform(kWeight, init), 2.0 / 900, std::sqrt(6.0 / 900));
  expect_moments(init::xavier_normal(kFilter, init, 2), 4 * 2.0 / 4800);
  expect_moments(init::kaiming_uniform(kWeight, init), 2.0 / 500, std::sqrt(6.0 / 500));
  expect_moments(init::kaiming_normal(kFilter, init, {.fan = init::Fan::out}), 2.0 / 1600);
  expect_moments(init::kaiming_normal(kFilter, init, {.slope = 0.5}), 2.0 / 1.25 / 3200);
  expect_moments(init::fan_in_uniform(kWeight, 25, init), 0.2 * 0.2 / 3, 0.2);
}

TEST(NnInit, DrawsNothingWhereWeightsAreReadAnyway) {
  Initializer init{.seed = 6, .placement = {.dtype = DType::bf16}, .draws = false};
  for (const Tensor& x : {init::normal({3, 4}, 1, init), init::uniform({3, 4}, -1, 1, init),
                          init::truncated_normal({3, 4}, 1, init)})
    EXPECT_EQ(values(x), Doubles(12, 0));
}

// Variance of N(0, 1) cut at +-b: 1 - 2 b phi(b) / (2 Phi(b) - 1).
double truncated_variance(double b) {
  const double density = std::exp(-b * b / 2) / std::sqrt(2 * M_PI);
  return 1 - 2 * b * density / std::erf(b / std::sqrt(2.0));
}

TEST(NnInit, TruncatedNormal) {
  Initializer init{.seed = 6};
  expect_moments(init::truncated_normal(kWeight, 0.02, init), 0.02 * 0.02 * truncated_variance(2),
                 0.04);
  expect_moments(init::truncated_normal(kWeight, 3, init, 0.5), 9 * truncated_variance(0.5), 1.5);
  EXPECT_NEAR(truncated_variance(2), 0.774, 5e-4);
  EXPECT_EQ(error_of<ValueError>([&] { init::truncated_normal({2}, 1, init, 0); }),
            "truncated_normal: bad arguments: std 1, bound 0. Use a bound of at least 0.1 standard "
            "deviations.");
  Initializer integers{.placement = {.dtype = DType::i32}};
  EXPECT_EQ(error_of<DTypeError>([&] { init::truncated_normal({2}, 1, integers); }),
            "truncated_normal: a floating type is needed: got i32. Draw it in f32 and cast.");
}

TEST(NnInit, ModulesStartWithinTheirBounds) {
  Initializer init{.seed = 9};
  const Linear linear(100, 300, init);
  expect_moments(linear.weight(), 0.01 / 3, 0.1);
  EXPECT_LE(moments(linear.bias()).high, 0.1);
  EXPECT_GE(moments(linear.bias()).high, 0.09);
  const Conv2d conv(64, 256, 2, init, {.groups = 4});  // fan in 2 x 2 x 16
  expect_moments(conv.parameters()[0], 1.0 / 64 / 3, 0.125);
  const Embedding embedding(1000, 200, init);
  expect_moments(embedding.weight(), 1);
}

TEST(NnInit, AssignRefusesAnotherShapeOrType) {
  const Tensor target = zeros({2});
  EXPECT_EQ(
      error_of<ShapeError>([&] { assign(target, ones({3})); }),
      "assign: the shapes differ: f32 [3] on cpu into f32 [2] on cpu. Give one value for each "
      "element.");
  EXPECT_EQ(
      error_of<DTypeError>([&] { assign(target, ones({2}, kDouble)); }),
      "assign: the dtypes differ: f64 [2] on cpu into f32 [2] on cpu. Cast the values first.");
  EXPECT_EQ(error_of<DeviceError>([&] { assign(target, ones({2}, kNull)); }),
            "assign: the devices differ: f32 [2] on null into f32 [2] on cpu. Make the values "
            "there.");
  EXPECT_EQ(values(target), (Doubles{0, 0}));
}

}  // namespace
}  // namespace plimsoll::nn
