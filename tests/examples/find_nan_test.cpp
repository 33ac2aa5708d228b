// --find-nan beside dynamic loss scaling: overflowing gradients pass and change no bit; whatever
// else is not finite is named, in the step and the batch where it was written.
#include "train/find_nan.h"

#include <gtest/gtest.h>

#include <fstream>

#include "autograd/gradients.h"
#include "examples/common/report.h"
#include "ops/ops.h"
#include "optim/sgd.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::examples {
namespace {

using namespace train;

// A weight whose loss is f(w, x), trained on batches of one x each.
struct Training {
  using Loss = std::function<Tensor(const Tensor& w, const Tensor& x)>;

  Training(Loss f, bool captured, const std::string& scale = "dynamic", int64_t parts = 1)
      : parts(parts),
        scaler(make_scaler(options_with(scale), Device::cpu)),
        window(std::array{w}, parts),
        runner(
            [this, f](std::span<const Tensor> in) {
              const Tensor loss = f(w, in[0]);
              std::vector<Tensor> sums = gradients(scaler.scale(loss), std::array{w});
              sums = window.add(std::move(sums), ones({}, {DType::f64}));
              if (!sums.empty()) {
                const auto [grads, skip] = scaler.unscale(std::move(sums));
                optimizer.update(grads, skip);
                scaler.update(skip);
              }
              return std::vector{loss};
            },
            captured, {}, &window),
        find_nan(options_with(scale), scaler, optimizer.steps()) {}

  static TrainOptions options_with(const std::string& scale) {
    return {.loss_scale = scale, .find_nan = true};
  }

  void step(float x) {
    const int64_t number = batches++, part = number % parts;
    window.at(part, parts);
    const Tensor batch = Tensor::of<float>({x}, {1});
    find_nan.watch(number, part + 1 == parts, [&] { return runner.train(number, {batch}); });
  }

  int64_t parts, batches = 0;
  Tensor w = ones({1}).require_grad();
  optim::SGD optimizer{{w}, {.learning_rate = 0.5}};
  optim::LossScaler scaler;
  optim::Accumulation window;
  Runner runner;
  FindNan find_nan;
};

// Its gradient times a scale of 65536 is infinite where x is 1e34, and finite at half of that.
Tensor product(const Tensor& w, const Tensor& x) { return sum(w * x); }
// Finite, and so is its gradient, though something on the way is not where x is 0.
Tensor harmless(const Tensor& w, const Tensor& x) {
  return sum(w * minimum(full({}, 1) / x, full({}, 2)));
}
// A finite loss with a gradient of NaN where x is 0, at any scale.
Tensor bad_gradient(const Tensor& w, const Tensor& x) { return sum(sqrt(w * x)); }

class FindNanOnBatches : public testing::TestWithParam<bool> {};

TEST_P(FindNanOnBatches, LetsGradientsOverflow) {
  Training training(product, GetParam());
  training.step(1e34F);  // 6.6e38, above f32
  EXPECT_EQ(training.optimizer.steps_made(), 0);
  EXPECT_EQ(training.w.item(), 1);
  EXPECT_EQ(training.scaler.current().item(), 32768);
  training.step(1e3F);
  EXPECT_EQ(training.optimizer.steps_made(), 1);
  EXPECT_EQ(training.w.item(), 1 - 0.5 * 1e3);
}

TEST_P(FindNanOnBatches, NamesTheOpWhereTheLossIsNotFinite) {
  Training training(product, GetParam());
  training.step(2);
  expect_error<NumericError>([&] { training.step(INFINITY); },
                             "train: in batch 2: mul: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs.");
  EXPECT_EQ(training.optimizer.steps_made(), 1);
  EXPECT_EQ(training.w.item(), 0);
}

// (w - x)^2 is beyond f32, its gradient is not: the update is made before anybody knows.
TEST_P(FindNanOnBatches, NamesTheOpWhereOnlyTheLossIsNotFinite) {
  Training training(
      [](const Tensor& w, const Tensor& x) {
        const Tensor off = w - x;
        return sum(off * off);
      },
      GetParam());
  expect_error<NumericError>([&] { training.step(2e19F); },
                             "train: in batch 1: mul: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs.");
  EXPECT_EQ(training.optimizer.steps_made(), 1);
}

TEST_P(FindNanOnBatches, NamesTheOpWhereTheUpdateWasMade) {
  Training training(harmless, GetParam());
  training.step(2);
  expect_error<NumericError>([&] { training.step(0); },
                             "train: in batch 2: div: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs.");
}

TEST_P(FindNanOnBatches, NamesTheOpWhereALowerScaleIsNoHelp) {
  Training training(bad_gradient, GetParam());
  for (double scale = 65536; scale > 1; scale /= 2) {
    EXPECT_EQ(training.scaler.current().item(), scale);
    training.step(0);
  }
  EXPECT_THROW(training.step(0), NumericError);
  EXPECT_EQ(training.optimizer.steps_made(), 0);
  EXPECT_EQ(training.batches, 17);
}

TEST_P(FindNanOnBatches, LooksAtAllBatchesOfAnUpdate) {
  Training training(product, GetParam(), "dynamic", 3);
  for (const float x : {2.0F, 1e34F, 2.0F}) training.step(x);  // in the middle: left out
  EXPECT_EQ(training.optimizer.steps_made(), 0);
  for (const float x : {2.0F, 4.0F, 6.0F}) training.step(x);
  EXPECT_EQ(training.optimizer.steps_made(), 1);
  EXPECT_EQ(training.w.item(), 1 - 0.5 * 4);
  training.step(2e34F);
  expect_error<NumericError>([&] { training.step(INFINITY); },
                             "train: in batch 8: mul: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs.");
}

TEST_P(FindNanOnBatches, NamesAnEarlierBatchWhereTheUpdateWasMade) {
  Training training(harmless, GetParam(), "dynamic", 2);
  training.step(0);
  expect_error<NumericError>([&] { training.step(2); },
                             "train: in batch 1: div: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs.");
}

// Nobody reads the loss times the scale: its gradient is right.
TEST_P(FindNanOnBatches, LetsTheScaledLossOverflow) {
  for (const char* scale : {"dynamic", "65536"}) {
    Training training([](const Tensor& w, const Tensor& x) { return sum(w * x) + 1e35; },
                      GetParam(), scale);
    training.step(2);
    EXPECT_EQ(training.optimizer.steps_made(), 1) << scale;
    EXPECT_EQ(training.w.item(), 1 - 0.5 * 2) << scale;
  }
}

TEST_P(FindNanOnBatches, LetsNothingPassBesideAFixedScaleOrNone) {
  for (const char* scale : {"65536", "1", "none"}) {
    Training training(bad_gradient, GetParam(), scale);
    EXPECT_THROW(training.step(0), NumericError) << scale;
    EXPECT_EQ(training.optimizer.steps_made(), 0) << scale;
  }
}

TEST_P(FindNanOnBatches, SaysWhereALowerScaleMayHelp) {
  Training training(product, GetParam(), "65536");
  expect_error<NumericError>([&] { training.step(1e34F); },
                             "train: in batch 1: mul: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs. The loss "
                             "is finite: a lower loss scale may help.");
  EXPECT_EQ(training.optimizer.steps_made(), 0);
  EXPECT_EQ(training.w.item(), 1);
  expect_error<NumericError>([&] { training.step(INFINITY); },
                             "train: in batch 2: mul: output 0 holds NaN or infinity: f32 [1] on "
                             "cpu. Lower the learning rate or look at this op's inputs.");
}

INSTANTIATE_TEST_SUITE_P(, FindNanOnBatches, testing::Bool(), [](const auto& captured) {
  return captured.param ? "captured" : "eager";
});

// On a text of its own, with a rate that makes several gradients overflow.
TEST(FindNan, ChangesNoBitOfATrainingThatScalesItsLoss) {
  const data::TemporaryFolder folder;
  std::string letters(20'000, ' ');
  uint32_t state = 1;
  for (char& letter : letters) letter = "abcdefgh"[(state = state * 1664525 + 1013904223) >> 29];
  folder.write("letters.txt", letters);
  const auto report = [&](const std::string& options) {
    const std::string file = folder.text("find_nan.json");
    const Outcome outcome =
        run("train_transformer --precision f16 --steps 6 --eval-every 6 "
            "--context 16 --layers 1 --width 32 --heads 2 --lr 1 --data text:" +
            folder.text("letters.txt") + " --json " + file + options);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return Json(Json::parse(std::ifstream(file))["final"]);
  };
  const Json plain = report("");
  EXPECT_GT(plain["skipped_steps"], 0);
  for (const char* mode : {"", " --mode eager"}) {
    const Json found = report(std::string(" --find-nan") + mode);
    for (const char* key : {"loss", "val_loss", "skipped_steps"})
      EXPECT_EQ(found[key], plain[key]) << mode << ": " << key;
  }
}

}  // namespace
}  // namespace plimsoll::examples
