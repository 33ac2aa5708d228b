// Batch and layer normalisation against plain loops, running statistics over steps, dropout.
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

constexpr double kEps = 1e-5;

// Mean and biased variance of each channel of x [rows, C].
struct Channels {
  Doubles mean, variance;
  Channels(const Doubles& x, size_t channels) : mean(channels), variance(channels) {
    const double rows = static_cast<double>(x.size() / channels);
    for (size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / rows;
    for (size_t i = 0; i < x.size(); ++i)
      variance[i % channels] += std::pow(x[i] - mean[i % channels], 2) / rows;
  }
};

Doubles normalised(Doubles x, const Doubles& mean, const Doubles& variance, const Doubles& gamma,
                   const Doubles& beta) {
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % mean.size();
    x[i] = gamma[c] * (x[i] - mean[c]) / std::sqrt(variance[c] + kEps) + beta[c];
  }
  return x;
}

TEST(NnNorm, BatchNormOverSteps) {
  Initializer init{.placement = kDouble};
  const BatchNorm2d norm(3, init, {.momentum = 0.2});
  EXPECT_EQ(names(norm.named_parameters()), (std::vector<std::string>{"gamma", "beta"}));
  EXPECT_EQ(names(norm.named_buffers()),
            (std::vector<std::string>{"running_mean", "running_variance"}));
  EXPECT_EQ(values(norm, "gamma"), Doubles(3, 1));
  EXPECT_EQ(values(norm, "beta"), Doubles(3, 0));
  shake(norm, 50);
  Doubles mean(3, 0), variance(3, 1);
  for (uint64_t step = 0; step < 4; ++step) {
    const Tensor x = draw({2, 3, 4, 3}, step);
    const Channels batch(values(x), 3);
    const Doubles expected = normalised(values(x), batch.mean, batch.variance,
                                        values(norm, "gamma"), values(norm, "beta"));
    EXPECT_LE(distance(values(norm(x, training())), expected), 1e-12);
    for (size_t c = 0; c < 3; ++c) {  // 24 elements a channel: unbiased is 24 / 23 of it
      mean[c] = 0.8 * mean[c] + 0.2 * batch.mean[c];
      variance[c] = 0.8 * variance[c] + 0.2 * batch.variance[c] * 24 / 23;
    }
    EXPECT_LE(distance(values(norm, "running_mean"), mean), 1e-12);
    EXPECT_LE(distance(values(norm, "running_variance"), variance), 1e-12);
  }
  const Tensor x = draw({1, 2, 2, 3}, 99);
  const Doubles expected =
      normalised(values(x), mean, variance, values(norm, "gamma"), values(norm, "beta"));
  EXPECT_LE(distance(values(norm(x)), expected), 1e-12);
  EXPECT_EQ(values(norm(x)), values(norm(x)));  // evaluation moves nothing
  EXPECT_LE(distance(values(norm, "running_mean"), mean), 1e-12);
}

TEST(NnNorm, RefusesOptions) {
  Initializer init;
  EXPECT_EQ(error_of<ValueError>([&] { BatchNorm2d(3, init, {.eps = -1}); }),
            "batch_norm: eps is not a number from 0: -1. Use 1e-5 or so.");
  EXPECT_EQ(error_of<ValueError>([&] { BatchNorm2d(3, init, {.momentum = 2}); }),
            "batch_norm: momentum is not in [0, 1]: 2. Use 0.1 or so.");
  EXPECT_EQ(error_of<ValueError>([&] { LayerNorm(3, init, {.eps = std::nan("")}); }),
            "layer_norm: eps is not a number from 0: nan. Use 1e-5 or so.");
}

TEST(NnNorm, LayerNorm) {
  Initializer init{.placement = kDouble};
  const LayerNorm norm(5, init);
  shake(norm, 60);
  const Tensor x = draw({2, 3, 5}, 1);
  const Doubles flat = values(x), gamma = values(norm, "gamma"), beta = values(norm, "beta");
  Doubles expected;
  for (size_t row = 0; row < 6; ++row) {
    const Channels stats(Doubles(flat.begin() + row * 5, flat.begin() + row * 5 + 5), 1);
    for (size_t d = 0; d < 5; ++d)
      expected.push_back(gamma[d] * (flat[row * 5 + d] - stats.mean[0]) /
                             std::sqrt(stats.variance[0] + kEps) +
                         beta[d]);
  }
  EXPECT_LE(distance(values(norm(x)), expected), 1e-12);
}

TEST(NnNorm, RmsNorm) {
  Initializer init{.placement = kDouble};
  const RMSNorm norm(5, init, {.eps = 0.5});
  EXPECT_EQ(names(norm.named_parameters()), std::vector<std::string>{"gamma"});
  shake(norm, 61);
  const Tensor x = draw({2, 3, 5}, 1);
  const Doubles flat = values(x), gamma = values(norm, "gamma");
  Doubles expected;
  for (size_t i = 0; i < flat.size(); ++i) {
    double squares = 0;
    for (size_t d = 0; d < 5; ++d) squares += std::pow(flat[i / 5 * 5 + d], 2);
    expected.push_back(gamma[i % 5] * flat[i] / std::sqrt(squares / 5 + 0.5));
  }
  EXPECT_LE(distance(values(norm(x)), expected), 1e-12);
}

// An image whose groups lie one below the other is a batch of rows for LayerNorm.
TEST(NnNorm, GroupNorm) {
  Initializer init{.placement = kDouble};
  const GroupNorm norm(2, 4, init);
  const Tensor x = draw({3, 1, 1, 4}, 1);
  const LayerNorm rows(2, init);
  EXPECT_LE(distance(values(norm(x)), values(rows(reshape(x, {6, 2})))), 1e-12);
  shake(norm, 62);
  const Doubles plain = values(rows(reshape(x, {6, 2})));
  const Doubles gamma = values(norm, "gamma"), beta = values(norm, "beta");
  Doubles expected;
  for (size_t i = 0; i < plain.size(); ++i)
    expected.push_back(gamma[i % 4] * plain[i] + beta[i % 4]);
  EXPECT_LE(distance(values(norm(x)), expected), 1e-12);
  EXPECT_EQ(error_of<ValueError>([&] { GroupNorm(3, 4, init); }),
            "group_norm: 3 groups do not divide the channels: 4. Choose a number that does.");
}

TEST(NnNorm, RefusesOtherWidths) {
  Initializer init;
  const BatchNorm2d batch(3, init);
  const LayerNorm layer(5, init);
  EXPECT_EQ(error_of<ShapeError>([&] {
              batch(zeros({2, 4, 4, 2}));
            }),
            "batch_norm: the input is not [N, H, W, 3]: got [2, 4, 4, 2]. Match the channels that "
            "the module was built for.");
  EXPECT_EQ(error_of<ShapeError>([&] {
              layer(zeros({2, 4}));
            }),
            "layer_norm: the last axis of the input is not 5: got [2, 4]. Match the width that the "
            "module was built for.");
}

TEST(NnDropout, DropsByKeyAndSite) {
  Initializer init{.seed = 1, .placement = kDouble};
  const Dropout first(0.25, init), second(0.25, init);
  const Tensor x = ones({100, 100}, kDouble), key = make_key(3, 0);
  const Doubles y = values(first(x, training(key)));
  double kept = 0;
  for (const double v : y) {
    EXPECT_TRUE(v == 0 || std::abs(v - 4.0 / 3) < 1e-12) << v;
    kept += v > 0;
  }
  EXPECT_NEAR(kept / 1e4, 0.75, 0.02);  // its standard deviation is 0.0043
  EXPECT_EQ(y, values(first(x, training(key))));
  EXPECT_NE(y, values(second(x, training(key))));
  EXPECT_NE(y, values(first(x, training(make_key(3, 1)))));
}

TEST(NnDropout, EvaluationAndZeroPassThrough) {
  Initializer init{.seed = 1};
  const Dropout dropout(0.5, init), none(0, init);
  const Tensor x = zeros({4});
  EXPECT_EQ(dropout(x).value().storage, x.value().storage);
  EXPECT_EQ(none(x, training()).value().storage, x.value().storage);
}

TEST(NnDropout, RefusesTrainingWithoutAKey) {
  Initializer init{.seed = 1};
  const Dropout dropout(0.5, init);
  EXPECT_EQ(error_of<StateError>([&] { dropout(zeros({4}), training()); }),
            "dropout: training with p = 0.5 needs a key and the mode has none. Pass "
            "training(make_key(seed, step)).");
  EXPECT_EQ(error_of<ValueError>([&] { Dropout(1, init); }),
            "dropout: p is no probability below 1: 1. Use 0 <= p < 1.");
}

}  // namespace
}  // namespace plimsoll::nn
