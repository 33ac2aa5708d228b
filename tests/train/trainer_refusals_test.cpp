// What the trainer refuses before it makes or plans anything.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/train/small_training.h"

namespace plimsoll::train {
namespace {

TEST(Trainer, RefusesWhatDoesNotGoTogether) {
  SmallTraining s;
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
  expect_error<ValueError>([&] { train({.epochs = 1, .clip_norm = -1}); },
                           "train: the largest norm of gradients is below 0: -1. Give 0 for no "
                           "clipping, or more.");
  expect_error<ValueError>([&] { train({.epochs = 1, .keep = 0}); },
                           "train: no save would be kept: 0. Keep 1 or more.");
  expect_error<ValueError>([&] { train({.epochs = 1, .evaluate_every = -1}); },
                           "train: evaluate_every counts from 0: -1. Give 0 or more.");
  expect_error<UsageError>([&] { train({.epochs = 1, .resume_from = "a"}); },
                           "train: a run to go on from is named, and it is not to be resumed: a. "
                           "Set resume too.");
  expect_error<ValueError>(
      [&] {
        TrainOptions options{.epochs = 1};
        options.objective.metrics = {{"accuracy", options.objective.loss}};
        train(options);
      },
      "train: a metric cannot be called \"accuracy\": it is a column of the log. Give it a name of "
      "its own, without commas.");
  expect_error<ValueError>(
      [&] {
        data::Loader uneven(small_images(data::Split::train), {.batch = 64});
        Trainer(s.model, *s.optimizer, batches(uneven), batches(s.test), {.epochs = 1});
      },
      "train: training batches differ in size: f32 [64, 28, 28, 1] on cpu and f32 [8, 28, 28, 1] "
      "on cpu. Make all of them alike: a loader does with drop_last.");
  expect_error<ValueError>(
      [&] {
        nn::Sequential empty;
        empty.then<nn::ReLU>();
        Trainer(empty, *s.optimizer, batches(s.training), batches(s.test), {.epochs = 1});
      },
      "train: the model has no parameters. Give it something to learn.");
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
