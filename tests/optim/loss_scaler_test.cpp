// Loss scaling: the sequence of scales under injected infinities, small gradients that survive,
// steps that are skipped without a trace, in eager mode and captured.
#include "optim/loss_scaler.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <memory>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "core/base/philox.h"
#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/rmsprop.h"
#include "optim/schedule.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

using optim::LossScaler;
using optim::Optimizer;

// A reader's version of torch.amp.GradScaler's rule.
struct Reference {
  double scale = 65536;
  int good = 0;
  void step(bool overflow, int interval) {
    if (overflow) {
      scale *= 0.5;
      good = 0;
    } else if (++good == interval) {
      scale *= 2;
      good = 0;
    }
  }
};

// One parameter, whose gradient is the input.
struct Training {
  Tensor w = ones({3}).require_grad();
  optim::Adam optimizer{{w}};
  LossScaler scaler;
  std::vector<Tensor> operator()(std::span<const Tensor> in) {
    const Tensor loss = sum(w * in[0]);
    const auto [grads, skip] = scaler.unscale(gradients(scaler.scale(loss), std::array{w}));
    optimizer.update(optim::clip_by_global_norm(grads, 1.0).grads, skip);
    scaler.update(skip);
    return {loss, grads[0]};
  }
};

TEST(LossScaler, FollowsItsRuleUnderInjectedInfinities) {
  for (const bool captured : {false, true}) {
    Training training{.scaler = LossScaler::dynamic({.interval = 4})};
    const StepFunction function = std::ref(training);
    Step step(function);
    Reference reference;
    int64_t made = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      const uint32_t drawn = random_words(3, 0, i)[0] % 8;  // overflows in a row, and long rests
      const float bad = drawn == 0 ? INFINITY : drawn == 1 ? NAN : -INFINITY;
      const bool overflow = drawn < 3 && i % 50 < 25;
      const std::vector<Tensor> in{Tensor::of<float>({1, overflow ? bad : 2, 3}, {3})};
      captured ? step.run(in) : function(in);
      reference.step(overflow, 4);
      made += !overflow;
      ASSERT_EQ(training.scaler.current().item(), reference.scale) << i;
      ASSERT_EQ(training.scaler.state()[1].second.item<int64_t>(), reference.good) << i;
      ASSERT_EQ(training.optimizer.steps_made(), made) << i;
      for (const float v : training.w.to_vector<float>()) ASSERT_TRUE(std::isfinite(v)) << i;
    }
    EXPECT_LT(made, 190);
    EXPECT_GT(made, 110);
  }
}

TEST(LossScaler, GrowsAfterTwoThousandGoodSteps) {
  const LossScaler scaler = LossScaler::dynamic();
  const Tensor fine = nonfinite(std::array{ones({2})});
  for (int i = 0; i < 1999; ++i) scaler.update(fine);
  EXPECT_EQ(scaler.current().item(), 65536);
  scaler.update(fine);
  EXPECT_EQ(scaler.current().item(), 131072);
  scaler.update(nonfinite(std::array{full({}, INFINITY)}));
  EXPECT_EQ(scaler.current().item(), 65536);
}

TEST(LossScaler, AGradientOf2ToTheMinus26SurvivesInF16) {
  const Tensor x = ones({1, 1}), w = ones({1, 1}).require_grad();
  const auto gradient = [&](const LossScaler& scaler) {
    const Autocast scope(Precision::f16);
    const Tensor loss = sum(linear(x, w)) * 0x1p-26;
    return scaler.unscale(gradients(scaler.scale(loss), std::array{w})).grads[0].item();
  };
  EXPECT_EQ(gradient(LossScaler::none()), 0);
  EXPECT_EQ(gradient(LossScaler::dynamic()), 0x1p-26);
  EXPECT_EQ(gradient(LossScaler::fixed(1024)), 0x1p-26);
}

TEST(LossScaler, ClippingSeesUnscaledGradients) {
  for (const LossScaler& scaler : {LossScaler::none(), LossScaler::dynamic()}) {
    Training training{.scaler = scaler};
    const Tensor w = training.w;
    const Tensor loss = sum(w * Tensor::of<float>({2, 3, 6}, {3}));
    const auto [grads, skip] = scaler.unscale(gradients(scaler.scale(loss), std::array{w}));
    const auto [clipped, norm] = optim::clip_by_global_norm(grads, 14);
    EXPECT_EQ(norm.item(), 7);
    EXPECT_EQ(clipped[0].to_vector<double>(), (std::vector<double>{2, 3, 6}));
  }
}

using Maker = std::function<std::unique_ptr<Optimizer>(std::vector<Tensor>)>;
template <class O, class Options>
Maker maker(const Options& options) {
  return [=](std::vector<Tensor> w) { return std::make_unique<O>(std::move(w), options); };
}

std::vector<Maker> every_optimizer() {
  using namespace optim;
  return {maker<SGD>(SgdOptions{.weight_decay = 0.1}),
          maker<SGD>(SgdOptions{.momentum = 0.9, .damping = 0.5}),
          maker<SGD>(SgdOptions{.momentum = 0.9, .nesterov = true}),
          maker<Adam>(AdamOptions{}),
          maker<Adam>(AdamOptions{.amsgrad = true}),
          maker<AdamW>(AdamWOptions{}),
          maker<Adamax>(AdamaxOptions{}),
          maker<NAdam>(NAdamOptions{}),
          maker<RAdam>(RAdamOptions{}),
          maker<RMSprop>(RMSpropOptions{}),
          maker<RMSprop>(RMSpropOptions{.momentum = 0.9, .centred = true}),
          maker<RMSprop>(RMSpropOptions{.momentum = 0.9}),
          maker<RMSprop>(RMSpropOptions{.centred = true}),
          maker<Adagrad>(AdagradOptions{.lr_decay = 0.1})};
}

// All bits of parameters and state after four steps, of which `skipped` are tried beside them.
std::vector<uint64_t> bits_after(const Maker& make, const std::vector<int>& skipped) {
  const std::vector<Tensor> w{clone(Tensor::of<float>({1, -2, 3}, {3})), ones({2, 2})};
  const auto optimizer = make(w);
  const auto update = [&](float g, bool overflow) {
    std::vector<Tensor> grads{Tensor::of<float>({g, overflow ? INFINITY : 1, NAN}, {3}),
                              full({2, 2}, g)};
    if (!overflow) grads[0].write(std::span<const float>(std::array{g, 1.0F, -g}));
    optimizer->update(grads, nonfinite(grads));
  };
  const optim::Schedule schedule = optim::exponential(0.1, 0.5);
  for (int i = 0; i < 4; ++i) {
    for (const int s : skipped)
      if (s == i) update(7, true);
    optimizer->set_learning_rate(schedule(optimizer->steps_made()));
    update(static_cast<float>(i) + 0.3F, false);
  }
  std::vector<uint64_t> bits;
  const auto add = [&](const Tensor& x) {
    for (const double v : x.to_vector<double>()) bits.push_back(std::bit_cast<uint64_t>(v));
  };
  for (const Tensor& p : w) add(p);
  for (const auto& [name, tensor] : optimizer->state()) add(tensor);
  return bits;
}

TEST(LossScaler, ASkippedStepLeavesNoTraceInAnyOptimizer) {
  for (size_t k = 0; k < every_optimizer().size(); ++k) {
    const Maker make = every_optimizer()[k];
    const std::vector<uint64_t> undisturbed = bits_after(make, {});
    EXPECT_EQ(bits_after(make, {0}), undisturbed) << k;  // the very first
    EXPECT_EQ(bits_after(make, {0, 0, 2, 3}), undisturbed) << k;
  }
}

TEST(LossScaler, GoesOnFromRestoredState) {
  const LossScaler first = LossScaler::dynamic({.interval = 2}), second = LossScaler::dynamic();
  const Tensor fine = nonfinite(std::array{ones({2})});
  for (int i = 0; i < 3; ++i) first.update(fine);
  EXPECT_EQ(first.state()[0].first, "loss_scale");
  EXPECT_EQ(first.state()[1].first, "good_steps");
  second.state()[0].second.write(
      std::span<const float>(first.state()[0].second.to_vector<float>()));
  EXPECT_EQ(second.current().item(), 131072);
  EXPECT_TRUE(LossScaler::none().state().empty());
}

TEST(LossScaler, RefusesNumbersThatAreNoScale) {
  const std::string sentence = "loss_scaler: the scale is not a positive number of f32: ";
  EXPECT_EQ(error_of<ValueError>([] { LossScaler::fixed(0); }), sentence + "0. Use 65536 or so.");
  EXPECT_EQ(error_of<ValueError>([] { LossScaler::fixed(1e39); }),
            sentence + "1e+39. Use 65536 or so.");
  EXPECT_EQ(error_of<ValueError>([] { LossScaler::dynamic({.backoff = 2}); }),
            "loss_scaler: a number is out of range: growth 2, backoff 2, interval 2000. Use 2, 0.5 "
            "and 2000 or so.");
}

}  // namespace
}  // namespace plimsoll
