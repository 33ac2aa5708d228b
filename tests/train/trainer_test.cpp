// The trainer: the same bits as a loop written out, eager and captured; runs that go on; budgets.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tests/data/testing.h"
#include "tests/support/errors.h"
#include "tests/train/small_training.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

// What a person writes without the trainer.
std::vector<float> by_hand(int epochs, int64_t window, double* test_loss) {
  SmallTraining s;
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
      SmallTraining s;
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
      SmallTraining whole;
      whole.train(options);
      options.run = dir.text("run");
      options.resume = true;
      for (int64_t part : {7, 1, 100}) {  // in the middle of an update too
        SmallTraining s;                  // another process would have no more
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
  SmallTraining whole;
  const Result expected = whole.train({.epochs = 2});
  for (const bool fails : {true, false}) {
    SmallTraining s;
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
  SmallTraining whole;
  const Result expected = whole.train({.epochs = 2});
  for (const int stopped : {1, 2}) {  // evaluations begun
    const TemporaryFolder dir;
    const TrainOptions options{.epochs = 2, .run = dir.text("run"), .resume = true};
    SmallTraining s;
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
    SmallTraining rest;
    const Result result = rest.train(options);
    EXPECT_EQ(rest.weights(), whole.weights());
    ASSERT_EQ(result.evaluations.size(), 2U);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(result.evaluations[i].at("val_loss"), expected.evaluations[i].at("val_loss"));
  }
}

TEST(Trainer, SaysWhereNothingIsUpdated) {
  SmallTraining s;
  testing::internal::CaptureStdout();
  expect_error<NumericError>(
      [&] { s.train({.epochs = 2, .precision = Precision::f16, .loss_scale = "1e30"}); },
      "train: no update was made: loss scaling left out all 24 of them. Lower the loss scale or "
      "the "
      "learning rate.");
  EXPECT_NE(testing::internal::GetCapturedStdout().find("train: 20 updates in a row were left out"),
            std::string::npos);
}

// A process that ends before the loss scale has settled is no failure.
TEST(Trainer, MayEndBeforeTheFirstUpdate) {
  SmallTraining s;
  const Result result =
      s.train({.epochs = 2, .stop_after = 2, .precision = Precision::f16, .loss_scale = "1e30"});
  EXPECT_FALSE(result.over);
  EXPECT_EQ(result.skipped, 2);
  EXPECT_GT(result.peak_bytes, 0);  // also where nothing was evaluated
}

// Gradients come in the order of the model's parameters, whatever the optimizer's is.
TEST(Trainer, FindsTheParametersOfTheOptimizer) {
  SmallTraining s, other, reversed;
  s.train({.epochs = 1});
  std::vector<Tensor> parameters = reversed.model.parameters();
  std::ranges::reverse(parameters);
  reversed.optimizer.emplace(parameters, optim::AdamWOptions{.learning_rate = 2e-3});
  reversed.train({.epochs = 1});
  EXPECT_EQ(reversed.weights(), s.weights());
  expect_error<ValueError>(
      [&] {
        Trainer(s.model, *other.optimizer, batches(s.training), batches(s.test), {.epochs = 1});
      },
      "parameter_groups: the optimizer has a parameter that is not among those of all, [4, 5, 5, "
      "1]. Pass the parameters of the whole model.");
}

// Of 12 batches an epoch, an update of 5, 5 and 2.
TEST(Trainer, EvaluatesAfterUpdates) {
  const auto evaluated = [](const TrainOptions& options) {
    SmallTraining s;
    std::vector<int64_t> after;
    for (const Evaluation& evaluation : s.train(options).evaluations)
      after.push_back(evaluation.batches);
    return after;
  };
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(evaluated({.epochs = 2, .evaluate_every = 3, .accumulate = 5}), (Numbers{12, 24}));
  EXPECT_EQ(evaluated({.epochs = 2, .evaluate_every = 2, .accumulate = 5}), (Numbers{10, 17, 24}));
  EXPECT_EQ(evaluated({.epochs = 2, .evaluate_every = 1, .accumulate = 100}), (Numbers{12, 24}));
  EXPECT_EQ(evaluated({.steps = 4, .evaluate_every = 2, .accumulate = 5}), (Numbers{10, 20}));
}

// A batch of 8 labels and one in which 1 of 8 counts.
TEST(Trainer, MeansAreOverLabelsThatCount) {
  nn::Initializer init{.seed = 1};
  nn::Sequential model;
  model.then<nn::Linear>(2, 3, init);
  optim::SGD optimizer(model.parameters(), {.learning_rate = 1e-30});
  const auto at = [](int64_t number) {
    const std::vector<int64_t> all{0, 1, 2, 0, 1, 2, 0, 1},
        one{2, -100, -100, -100, -100, -100, -100, -100};
    return data::Batch{uniform({8, 2}, -9, 9, static_cast<uint64_t>(number % 2)),
                       Tensor::of(std::span(number % 2 == 0 ? all : one), {8})};
  };
  const Result result =
      Trainer(model, optimizer, {.at = at}, {.at = at, .count = 2}, {.steps = 2}).run();
  EXPECT_NEAR(result.last.mean_loss, result.last.at("val_loss"), 1e-6);
}

TEST(Trainer, AShorterRunShowsWhatWasMeasured) {
  const TemporaryFolder dir;
  TrainOptions options{.steps = 20, .stop_after = 10, .run = dir.text("run"), .resume = true};
  SmallTraining().train(options);
  options.steps = 8;
  options.stop_after = 0;
  SmallTraining s;
  const Result result = s.train(options);
  EXPECT_TRUE(result.over);
  ASSERT_EQ(result.evaluations.size(), 1U);  // it was never evaluated, so it is now
  EXPECT_GT(result.last.at("val_loss"), 0);
  EXPECT_GT(result.last.mean_loss, 0);
}

// What an evaluation's loader prepares is memory of the host like that of the training's.
TEST(Trainer, TheLoaderOfAnEvaluationIsWithinTheBudget) {
  SmallTraining s;
  Batches test = batches(s.test);
  test.host_bytes = int64_t{1} << 30;
  TrainOptions options{.epochs = 1, .budget = int64_t{1} << 30};
  options.planning = {.costs = CostModel::model, .search_seconds = 0.1};
  EXPECT_THROW(Trainer(s.model, *s.optimizer, batches(s.training), test, options).run(),
               UsageError);
  EXPECT_EQ(default_pool(Device::cpu)->limit(), PooledAllocator::kUnlimited);  // as before
}

// The best state of the run that another goes on from stays the best until there is a better one.
TEST(Trainer, TheBestStateComesAlong) {
  const TemporaryFolder dir;
  TrainOptions options{.epochs = 3, .stop_after = 13, .run = dir.text("a")};
  options.schedule = [](int64_t update) { return update < 12 ? 2e-3 : 10.; };  // worse and worse
  SmallTraining().train(options);
  options.resume_from = dir.text("a");
  options.run = dir.text("b");
  options.resume = true;
  options.stop_after = 0;
  SmallTraining().train(options);
  const std::vector<Save> saves = list_saves(RunFolder::saves_of(options.run));
  const auto best = std::ranges::find_if(saves, &Save::best);
  ASSERT_NE(best, saves.end());
  EXPECT_EQ(best->number, 12);
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
      SmallTraining().train(options);
    } catch (const UsageError& e) {
      refused = e.what();
    }
    const std::string words = "the smallest plan found takes ";
    ASSERT_NE(refused.find(words), std::string::npos) << refused;
    options.budget = std::stoll(refused.substr(refused.find(words) + words.size()));
    std::vector<float> tight;
    {
      SmallTraining s;
      const Result result = s.train(options);
      EXPECT_LE(result.planned.training, options.budget);
      EXPECT_LE(result.peak_bytes, options.budget);
      tight = s.weights();
    }
    pool.set_limit(PooledAllocator::kUnlimited);
    SmallTraining free;
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

}  // namespace
}  // namespace plimsoll::train
