// SGD, Adam and AdamW for twenty steps against plain loops in double, written from the papers. The
// gradient is any function of the parameters: both sides evaluate the same one.
#include <gtest/gtest.h>

#include <functional>

#include "ops/pointwise/copy/copy.h"
#include "optim/adam.h"
#include "optim/sgd.h"

namespace plimsoll {
namespace {

using optim::Optimizer;
using Values = std::vector<double>;

constexpr int kSteps = 20;

double rate(int step) { return step < 10 ? 0.05 : 0.02; }  // as a schedule would change it

Values gradient(const Values& w) {
  Values g(w.size());
  for (size_t i = 0; i < w.size(); ++i)
    g[i] = (1 + 0.1 * static_cast<double>(i)) * w[i] + std::sin(3 * w[(i + 1) % w.size()]);
  return g;
}

std::vector<Values> starts() {
  std::vector<Values> all(2);
  for (int i = 0; i < 6; ++i) all[0].push_back(0.7 * i - 1.6);
  for (int i = 0; i < 3; ++i) all[1].push_back(1.1 - 0.9 * i);
  return all;
}

// Reference: what a rule makes of one parameter. `t` counts from 1.
using Reference =
    std::function<void(Values& w, const Values& g, Values& a, Values& b, double lr, int t)>;

std::vector<Values> expected(const Reference& rule) {
  std::vector<Values> w = starts();
  for (Values& values : w) {
    Values a(values.size()), b(values.size());
    for (int t = 1; t <= kSteps; ++t) rule(values, gradient(values), a, b, rate(t - 1), t);
  }
  return w;
}

template <class O, class Options>
void expect_trajectory(const Options& options, const Reference& rule) {
  const std::vector<Values> wanted = expected(rule);
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto tensors = [dtype](const std::vector<Values>& v) {
      return std::vector{cast(Tensor::of(std::span<const double>(v[0]), {2, 3}), dtype),
                         cast(Tensor::of(std::span<const double>(v[1]), {3}), dtype)};
    };
    const std::vector<Tensor> w = tensors(starts());
    O optimizer(w, options);
    for (int t = 0; t < kSteps; ++t) {
      std::vector<Values> grads;
      for (const Tensor& p : w) grads.push_back(gradient(p.to_vector<double>()));
      optimizer.set_learning_rate(rate(t));
      optimizer.update(tensors(grads));
    }
    EXPECT_EQ(optimizer.steps().template item<int64_t>(), kSteps);
    for (size_t k = 0; k < 2; ++k) {
      const Values actual = w[k].to_vector<double>();
      for (size_t i = 0; i < actual.size(); ++i)
        EXPECT_NEAR(actual[i], wanted[k][i], dtype == DType::f64 ? 1e-12 : 2e-5)
            << name_of(dtype) << " parameter " << k << " element " << i;
    }
  }
}

TEST(Sgd, Plain) {
  expect_trajectory<optim::SGD>(optim::SgdOptions{},
                                [](auto& w, auto& g, auto&, auto&, double lr, int) {
                                  for (size_t i = 0; i < w.size(); ++i) w[i] -= lr * g[i];
                                });
}

TEST(Sgd, WeightDecayIsTheGradientOfHalfTheSquare) {
  expect_trajectory<optim::SGD>(optim::SgdOptions{.weight_decay = 0.3},
                                [](auto& w, auto& g, auto&, auto&, double lr, int) {
                                  for (size_t i = 0; i < w.size(); ++i)
                                    w[i] -= lr * (g[i] + 0.3 * w[i]);
                                });
}

// Polyak's heavy ball: the velocity is a sum of gradients that fades by `momentum`.
TEST(Sgd, Momentum) {
  expect_trajectory<optim::SGD>(optim::SgdOptions{.momentum = 0.9, .weight_decay = 0.1},
                                [](auto& w, auto& g, auto& v, auto&, double lr, int t) {
                                  for (size_t i = 0; i < w.size(); ++i) {
                                    const double decayed = g[i] + 0.1 * w[i];
                                    v[i] = t == 1 ? decayed : 0.9 * v[i] + decayed;
                                    w[i] -= lr * v[i];
                                  }
                                });
}

TEST(Sgd, NesterovTakesTheNextStepOfTheVelocityToo) {
  expect_trajectory<optim::SGD>(optim::SgdOptions{.momentum = 0.8, .nesterov = true},
                                [](auto& w, auto& g, auto& v, auto&, double lr, int) {
                                  for (size_t i = 0; i < w.size(); ++i) {
                                    v[i] = 0.8 * v[i] + g[i];
                                    w[i] -= lr * (g[i] + 0.8 * v[i]);
                                  }
                                });
}

// Algorithm 1 of Kingma and Ba; `decoupled` is algorithm 2 of Loshchilov and Hutter.
Reference adam(double beta1, double beta2, double eps, double decay, bool decoupled) {
  return [=](Values& w, const Values& g, Values& m, Values& v, double lr, int t) {
    for (size_t i = 0; i < w.size(); ++i) {
      const double gradient = decoupled ? g[i] : g[i] + decay * w[i];
      m[i] = beta1 * m[i] + (1 - beta1) * gradient;
      v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
      const double m_hat = m[i] / (1 - std::pow(beta1, t));
      const double v_hat = v[i] / (1 - std::pow(beta2, t));
      const double shrink = decoupled ? lr * decay * w[i] : 0;
      w[i] -= lr * m_hat / (std::sqrt(v_hat) + eps) + shrink;
    }
  };
}

TEST(Adam, Defaults) {
  expect_trajectory<optim::Adam>(optim::AdamOptions{}, adam(0.9, 0.999, 1e-8, 0, false));
}

TEST(Adam, AllOptions) {
  expect_trajectory<optim::Adam>(
      optim::AdamOptions{.beta1 = 0.7, .beta2 = 0.9, .eps = 0.1, .weight_decay = 0.2},
      adam(0.7, 0.9, 0.1, 0.2, false));
}

TEST(AdamW, Defaults) {
  expect_trajectory<optim::AdamW>(optim::AdamWOptions{}, adam(0.9, 0.999, 1e-8, 0.01, true));
}

TEST(AdamW, AllOptions) {
  expect_trajectory<optim::AdamW>(
      optim::AdamWOptions{.beta1 = 0.7, .beta2 = 0.9, .eps = 0.1, .weight_decay = 0.5},
      adam(0.7, 0.9, 0.1, 0.5, true));
}

}  // namespace
}  // namespace plimsoll
