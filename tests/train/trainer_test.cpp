// The trainer: the same bits as a loop written out, eager and captured; runs that go on; budgets.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tests/data/testing.h"
#include "tests/support/errors.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

const data::ImageDataset& images(data::Split split) {
  static const data::ImageDataset training = data::draw_images(data::Split::train, {.count = 200}),
                                  test = data::draw_images(data::Split::test, {.count = 50});
  return split == data::Split::train ? training : test;
}

// A net with dropout, its optimizer and its data: 12 batches of 16 an epoch.
struct Digits {
  nn::Initializer init{.seed = 3};
  nn::Sequential model;
  std::optional<optim::AdamW> optimizer;
  data::Loader training{images(data::Split::train),
                        {.batch = 16, .shuffle = true, .seed = 5, .drop_last = true}};
  data::Loader test{images(data::Split::test), {.batch = 16}};

  Digits() {
    model.then<nn::Conv2d>(1, 4, 5, init).then<nn::ReLU>().then<nn::MaxPool2d>();
    model.then<nn::Flatten>().then<nn::Dropout>(0.3, init).then<nn::Linear>(576, 10, init);
    optimizer.emplace(model.parameters(), optim::AdamWOptions{.learning_rate = 2e-3});
  }
  Result train(const TrainOptions& options) {
    return Trainer(model, *optimizer, batches(training), batches(test), options).run();
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& p : model.parameters()) {
      const std::vector<float> some = p.to_vector<float>();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
};

// What a person writes without the trainer.
std::vector<float> by_hand(int epochs, int64_t window, double* test_loss) {
  Digits s;
  const std::vector<Tensor> parameters = s.model.parameters();
  const optim::Schedule schedule = optim::cosine(2e-3, 2e-4, 20);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    s.training.start(static_cast<uint64_t>(epoch));
    std::vector<Tensor> sums;
    for (int64_t i = 0; const auto batch = s.training.next(); ++i) {
      const Tensor key = make_key(1, static_cast<uint64_t>(epoch * 12 + i));
      const Tensor loss = cross_entropy(s.model(batch->x, nn::training(key)), batch->y);
      std::vector<Tensor> grads = gradients(loss, parameters);
      for (size_t p = 0; p < grads.size(); ++p)
        if (sums.size() <= p)
          sums.push_back(grads[p]);
        else
          sums[p] = sums[p] + grads[p];
      const bool last = (i + 1) % window == 0 || i + 1 == 12;
      if (!last) continue;
      const auto batches = static_cast<double>(i % window + 1);
      for (Tensor& sum : sums) sum = sum / full({}, batches);
      s.optimizer->set_learning_rate(schedule(s.optimizer->steps_made()));
      s.optimizer->update(optim::clip_by_global_norm(sums, 0.5).grads);
      sums.clear();
    }
  }
  const NoGrad no_grad;
  double sum = 0;
  s.test.start(0);
  while (const auto batch = s.test.next())
    sum +=
        cross_entropy(s.model(batch->x), batch->y).item() * static_cast<double>(batch->y.count());
  *test_loss = sum / 50;
  return s.weights();
}

TEST(Trainer, DoesWhatALoopDoes) {
  for (const int64_t window : {1, 5}) {  // of 12 batches: the last window has 2
    double expected_loss = 0;
    const std::vector<float> expected = by_hand(2, window, &expected_loss);
    for (const bool captured : {true, false}) {
      Digits s;
      const Result result = s.train({.epochs = 2,
                                     .accumulate = window,
                                     .clip_norm = 0.5,
                                     .schedule = optim::cosine(2e-3, 2e-4, 20),
                                     .captured = captured});
      EXPECT_TRUE(result.over);
      EXPECT_EQ(result.evaluations.size(), 2U);
      const std::vector<float> weights = s.weights();
      ASSERT_EQ(weights.size(), expected.size());
      // Sums by counts and then one division round differently from sums of means.
      for (size_t i = 0; i < weights.size(); ++i)
        ASSERT_NEAR(weights[i], expected[i], window == 1 ? 0 : 2e-5) << i << " " << captured;
      EXPECT_NEAR(result.last.at("val_loss"), expected_loss, window == 1 ? 1e-7 : 1e-4);
    }
  }
}

TEST(Trainer, GoesOnWithTheSameBits) {
  for (const bool captured : {true, false})
    for (const Precision precision : {Precision::f32, Precision::f16}) {
      const TemporaryFolder dir;
      TrainOptions options{.epochs = 2, .precision = precision, .accumulate = 3};
      options.captured = captured;
      Digits whole;
      whole.train(options);
      options.run = dir.text("run");
      options.resume = true;
      for (int64_t part : {7, 1, 100}) {  // in the middle of an update too
        Digits s;                         // another process would have no more
        options.stop_after = part;
        const Result result = s.train(options);
        EXPECT_EQ(result.over, part == 100);
        if (!result.over) continue;
        EXPECT_EQ(s.weights(), whole.weights());
        EXPECT_EQ(result.evaluations.size(), 2U);  // those of the processes before too
      }
    }
}

// What was trained before an evaluation is kept, and the evaluation made up for.
TEST(Trainer, GoesOnAfterAnEvaluationThatFailed) {
  const TemporaryFolder dir;
  Digits whole;
  const Result expected = whole.train({.epochs = 2});
  for (const bool fails : {true, false}) {
    Digits s;
    Batches test = batches(s.test);
    if (fails)
      test.at = [](int64_t) -> data::Batch { fail<DataError>("the disk is gone. Find it."); };
    TrainOptions options{.epochs = 2, .run = dir.text("run"), .resume = true};
    Trainer trainer(s.model, *s.optimizer, batches(s.training), test, options);
    if (fails) {
      EXPECT_THROW(trainer.run(), DataError);
      continue;
    }
    const Result result = trainer.run();
    EXPECT_EQ(s.weights(), whole.weights());
    ASSERT_EQ(result.evaluations.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(result.evaluations[i].mean_loss, expected.evaluations[i].mean_loss);
      EXPECT_EQ(result.evaluations[i].at("val_loss"), expected.evaluations[i].at("val_loss"));
    }
  }
}

// A stop is answered in the middle of an evaluation too, which is made when training goes on; also
// of the last one, where all batches are made.
TEST(Trainer, LeavesAnEvaluationWhenItIsStopped) {
  Digits whole;
  const Result expected = whole.train({.epochs = 2});
  for (const int stopped : {1, 2}) {  // evaluations begun
    const TemporaryFolder dir;
    const TrainOptions options{.epochs = 2, .run = dir.text("run"), .resume = true};
    Digits s;
    Batches test = batches(s.test);
    int begun = 0, batches_seen = 0;
    const auto at = test.at;
    test.at = [&](int64_t i) {
      if (i == 0 && ++begun == stopped) raise(SIGTERM);
      ++batches_seen;
      return at(i);
    };
    EXPECT_THROW(Trainer(s.model, *s.optimizer, batches(s.training), test, options).run(),
                 Interrupted);
    EXPECT_EQ(batches_seen, 4 * (stopped - 1) + 1);
    Digits rest;
    const Result result = rest.train(options);
    EXPECT_EQ(rest.weights(), whole.weights());
    ASSERT_EQ(result.evaluations.size(), 2U);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(result.evaluations[i].at("val_loss"), expected.evaluations[i].at("val_loss"));
  }
}

TEST(Trainer, SaysWhereNothingIsUpdated) {
  Digits s;
  testing::internal::CaptureStdout();
  expect_error<NumericError>(
      [&] { s.train({.epochs = 2, .precision = Precision::f16, .loss_scale = "1e30"}); },
      "train: no update was made: loss scaling left out all 24 of them. Lower the loss scale or "
      "the "
      "learning rate.");
  EXPECT_NE(testing::internal::GetCapturedStdout().find("train: 20 updates in a row were left out"),
            std::string::npos);
}

// A model that was there before the pool was exact: what was cut for it counts.
TEST(Trainer, StaysWithinItsBudget) {
  PooledAllocator& pool = *default_pool(Device::cpu);
  for (const bool exact : {true, false}) {
    if (exact) make_exact(pool);
    TrainOptions options{.epochs = 1};
    options.planning = {.costs = CostModel::model, .search_seconds = 0.1};
    options.budget = 1000;
    std::string refused;
    try {
      Digits().train(options);
    } catch (const UsageError& e) {
      refused = e.what();
    }
    const std::string words = "the smallest plan found takes ";
    ASSERT_NE(refused.find(words), std::string::npos) << refused;
    pool.set_limit(exact ? PooledAllocator::kUnlimited - 1 : PooledAllocator::kUnlimited);
    options.budget = std::stoll(refused.substr(refused.find(words) + words.size()));
    std::vector<float> tight;
    {
      Digits s;
      const Result result = s.train(options);
      EXPECT_LE(result.planned.training, options.budget);
      EXPECT_LE(result.peak_bytes, options.budget);
      tight = s.weights();
    }
    pool.set_limit(PooledAllocator::kUnlimited);
    Digits free;
    free.train({.epochs = 1});
    EXPECT_EQ(tight, free.weights());
  }
}

// Floating labels, a loss and a figure of one's own, batches that come from a function.
TEST(Trainer, TakesAnyLossAndAnyBatches) {
  nn::Initializer init{.seed = 1};
  nn::Sequential model;
  model.then<nn::Linear>(2, 1, init);
  optim::SGD optimizer(model.parameters(), {.learning_rate = 0.1});
  const auto at = [](int64_t number) {
    const Tensor x = uniform({8, 2}, -1, 1, static_cast<uint64_t>(number));
    const auto [a, b] = split_into<2>(x, 1);
    return data::Batch{x, contiguous(reshape(a * full({}, 2) - b, {8, 1}))};
  };
  TrainOptions options{.steps = 200, .evaluate_every = 100};
  options.objective = {
      .loss = [](const Tensor& y, const Tensor& wanted) { return mse_loss(y, wanted); },
      .metrics = {{"largest", [](const Tensor& y, const Tensor& wanted) {
                     return amax(abs(y - wanted), {0, 1});
                   }}}};
  const TemporaryFolder dir;
  options.run = dir.text("run");
  const Result result =
      Trainer(model, optimizer, {.at = at}, {.at = at, .count = 3}, options).run();
  EXPECT_LT(result.last.at("val_loss"), 1e-4);
  ASSERT_EQ(result.evaluations.size(), 2U);
  EXPECT_GT(result.evaluations[0].at("largest"), result.evaluations[1].at("largest"));
  EXPECT_TRUE(std::isnan(result.last.at("accuracy")));
  EXPECT_EQ(read_log(dir / "run").back().batches, 200);
}

TEST(Trainer, RefusesWhatDoesNotGoTogether) {
  Digits s;
  const auto train = [&](const TrainOptions& options) { s.train(options); };
  expect_error<ValueError>([&] { train({}); },
                           "train: it is as long as its epochs or its steps say: 0 and 0. Give one "
                           "of them.");
  expect_error<ValueError>([&] { train({.epochs = 1, .accumulate = 0}); },
                           "train: an update needs batches: 0. Accumulate 1 or more.");
  expect_error<ValueError>([&] { train({.epochs = 1, .prune = 1}); },
                           "train: the share to prune is not in [0, 1): 1. Use one as 0.8.");
  expect_error<ValueError>([&] { train({.epochs = 1, .loss_scale = "1x"}); },
                           "train: no such loss scale: 1x. Use dynamic, none or a number.");
  expect_error<UsageError>([&] { train({.epochs = 1, .captured = false, .budget = 1 << 20}); },
                           "train: only a captured step is planned, and this one is eager. Leave "
                           "the budget out, or capture it.");
  expect_error<UsageError>([&] { train({.epochs = 1, .resume = true}); },
                           "train: there is no run to go on with. Name its folder.");
  const auto of_kind = [&](const Metas& kind) {
    Trainer(s.model, *s.optimizer, {.at = [](int64_t) { return data::Batch(); }, .kinds = {kind}},
            batches(s.test), {.epochs = 1});
  };
  expect_error<ValueError>(
      [&] {
        of_kind({{{2, 28, 28, 1}}, {{2}, DType::i64}});
      },
      "train: these batches have no epochs. Say how many steps to train.");
  expect_error<ValueError>([&] { of_kind({}); },
                           "train: a kind of batch is {x, y}: 0 tensors. Give two, or none.");
  expect_error<ValueError>(
      [&] { Trainer(s.model, *s.optimizer, {}, batches(s.test), {.epochs = 1}); },
      "train: there are no batches. Set Batches::at.");
}

}  // namespace
}  // namespace plimsoll::train
