// Trainers on ranks that are threads: the same bits on 1, 2, 4 and 8 of them, in weights, running
// statistics and logs; runs that go on with another number; what they refuse.
#include <gtest/gtest.h>

#include "core/ranks/planned_ranks.h"
#include "tests/support/errors.h"
#include "tests/train/rank_training.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

TEST(RankTrainers, LeaveTheSameBitsOnAnyNumber) {
  for (const Precision precision : {Precision::f32, Precision::f16, Precision::bf16}) {
    const TemporaryFolder dir;
    const TrainOptions options = options_for(precision, true);
    const Left one = train(1, options, dir.text("1"))[0];
    EXPECT_EQ(one.result.evaluations.size(), 2U);
    EXPECT_GT(std::ranges::count(one.log, '\n'), 10);
    for (const int64_t n : {2, 4, 8})
      for (const Left& each : train(n, options, dir.text(cat(n)))) {
        EXPECT_EQ(each, one) << n << " ranks, " << name_of(precision);
        EXPECT_EQ(each.result.skipped, one.result.skipped);
        EXPECT_EQ(each.result.ranks.size(), static_cast<size_t>(n));
      }
    const Left eager = train(4, options_for(precision, false), dir.text("eager"))[2];
    EXPECT_EQ(eager, one) << "eager, " << name_of(precision);
    TrainOptions even = options;
    even.accumulate = 4;  // 5 whole windows an epoch, and none that is shorter
    const Left whole = train(1, even, dir.text("whole"))[0];
    EXPECT_EQ(train(4, even, dir.text("wholes"))[3], whole) << name_of(precision);
    const Left ahead = train(4, options, dir.text("ahead"), /*workers=*/2)[3];
    EXPECT_EQ(ahead, one) << "with batches prepared ahead";
  }
}

// Batch norm inside of a checkpoint leaves its statistics once, and not when it runs again.
TEST(RankTrainers, CheckpointBatchNorm) {
  struct Normalised : nn::Module {
    explicit Normalised(bool checkpoint) : checkpoint(checkpoint) {}
    Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
      const Tensor image = reshape(x, {x.size(0), 1, 1, 10});
      return reshape(checkpoint ? nn::checkpointed(norm, image, mode) : norm(image, mode),
                     x.shape());
    }
    bool checkpoint;
    nn::Initializer init{.seed = 1};
    nn::BatchNorm2d& norm = add<nn::BatchNorm2d>("norm", 10, init);
  };
  for (const bool captured : {true, false}) {
    const TemporaryFolder dir;
    const TrainOptions options = options_for(Precision::f32, captured);
    const auto trained = [&](int64_t n, bool checkpoint) {
      return train(n, options, dir.text(cat(n, checkpoint)), 0, [=](Digits& s) {
        s.model.then<Normalised>(checkpoint);
        s.optimizer.emplace(optim::AdamW(s.model.parameters(), {.learning_rate = 2e-3}));
      })[static_cast<size_t>(n - 1)];
    };
    const Left kept = trained(1, false);
    EXPECT_EQ(trained(1, true), kept);
    EXPECT_EQ(trained(2, true), kept);
  }
}

// Without ranks a window is added from the left, as ever; both are near each other.
TEST(RankTrainers, AreNearATrainingWithoutRanks) {
  const TemporaryFolder dir;
  TrainOptions options = options_for(Precision::f32, true);
  const Left one = train(1, options, dir.text("1"))[0];
  Digits s;
  const Result alone = s.train(options);
  EXPECT_TRUE(alone.ranks.empty());
  EXPECT_NE(s.bits(), one.bits);
  EXPECT_NEAR(alone.last.at("val_loss"), one.result.last.at("val_loss"), 1e-3);
  // A window of one batch is one batch, whoever trains it.
  options.accumulate = 1;
  Digits single;
  single.train(options);
  EXPECT_EQ(train(1, options, dir.text("single"))[0].bits, single.bits());
}

// A set is named by its folder too.
TEST(RankTrainers, GoOnFromTheFolderOfASet) {
  const TemporaryFolder dir;
  TrainOptions options = options_for(Precision::f32, true);
  const Left whole = train(1, options, dir.text("whole"))[0];
  options.stop_after = 8;
  train(2, options, dir.text("part"));
  const std::filesystem::path index = list_saves(dir / "part" / "saves")[0].file;
  options.stop_after = 0;
  options.resume = true;
  std::vector<Left> left;
  for (const auto& named : {index, index.parent_path()}) {
    options.resume_from = named.string();
    left.push_back(train(2, options, dir.text(cat("on from ", named.filename().string())))[1]);
    EXPECT_EQ(left.back().bits, whole.bits);
    EXPECT_LT(std::ranges::count(left.back().log, '\n'), std::ranges::count(whole.log, '\n'));
  }
  EXPECT_EQ(left[1], left[0]);
}

// Ranks that keep what they were told to be at, and how late others may then be.
class NotedRanks : public Ranks {
 public:
  explicit NotedRanks(Ranks& ranks) : ranks_(ranks) {}
  int64_t rank() const override { return ranks_.rank(); }
  int64_t size() const override { return ranks_.size(); }
  int64_t local_size() const override { return ranks_.local_size(); }
  Ticket start(const Collective& collective) override { return ranks_.start(collective); }
  void wait(Ticket ticket) override { ranks_.wait(ticket); }
  void wait_all() override { ranks_.wait_all(); }
  [[noreturn]] void abort(int, const std::string& sentence) override { fail<StateError>(sentence); }
  void note(const std::string& what, double times) override {
    notes.push_back(cat(what, " ", times));
  }

  std::vector<std::string> notes;

 private:
  Ranks& ranks_;
};

// A save waits for the slowest rank to have written the one before.
TEST(RankTrainers, MayBeLateWhereThereIsASave) {
  const TemporaryFolder dir;
  TrainOptions options = options_for(Precision::f32, true);
  options.epochs = 1;
  options.save_every = 8;
  options.ranks = 2;
  options.run = dir.text("run");
  run_ranks(2, [&](Ranks& ranks) {
    NotedRanks noted(ranks);
    const RanksScope scope(&noted);
    Digits().train(options);
    EXPECT_EQ(noted.notes,
              (std::vector<std::string>{
                  "before the first step 10", "in the batches 1 to 8 1",
                  "in the save after 8 batches 3", "in the batches 9 to 16 3",
                  "in the save after 16 batches 3", "in the batches 17 to 20 3",
                  "in the save after 20 batches 3", "in the evaluation after 20 batches 3",
                  "in the save after 20 batches 3", "at the end of training 10"}));
  });
}

// What one of them is asked, all of them hear.
TEST(RankTrainers, StopTogether) {
  const TemporaryFolder dir;
  TrainOptions options = options_for(Precision::f32, true);
  options.ranks = 2;
  run_ranks(2, [&](Ranks& ranks) {
    Digits s;
    Batches training = batches(s.training);
    training.at = [&, at = training.at](int64_t number) {
      if (ranks.rank() == 1 && number == 12) raise(SIGUSR1);
      return at(number);
    };
    EXPECT_THROW(Trainer(s.model, *s.optimizer, training, batches(s.test), options).run(),
                 Interrupted);
  });
}

// Each rank's sentence where `change` makes rank 1 another.
std::string refused(const std::function<void(TrainOptions&, Digits&)>& change) {
  TrainOptions options = options_for(Precision::f32, true);
  options.ranks = 2;
  std::vector<std::string> said(2);
  run_ranks(2, [&](Ranks& ranks) {
    Digits s;
    TrainOptions own = options;
    if (ranks.rank() == 1) change(own, s);
    said[static_cast<size_t>(ranks.rank())] = error_of<UsageError>([&] { s.train(own); });
  });
  EXPECT_EQ(said[0], said[1]);
  return said[0];
}

TEST(RankTrainers, RefuseToDiffer) {
  EXPECT_EQ(refused([](TrainOptions& options, Digits&) { options.seed = 7; }),
            "train: the ranks differ in the seed: rank 0 has 1, rank 1 has 7. Start all of them "
            "with the same.");
  EXPECT_EQ(refused([](TrainOptions& options, Digits&) { options.clip_norm = 0.25; }),
            "train: the ranks differ in clipping: rank 0 has 0.5, rank 1 has 0.25. Start all of "
            "them with the same.");
  EXPECT_NE(refused([](TrainOptions& options, Digits&) {
              options.schedule = optim::cosine(2e-3, 3e-4, 6);
            }).find("the ranks differ in learning rates"),
            std::string::npos);
  EXPECT_NE(refused([](TrainOptions&, Digits& s) {
              s.model.parameters()[1].write(std::span<const float>(std::array{1.f, 2.f, 3.f, 4.f}));
            }).find("the ranks differ in weights"),
            std::string::npos);
  EXPECT_NE(refused([](TrainOptions& options, Digits&) {
              options.same.emplace_back("width", "7");
            }).find("rank 1 has option width, rank 0 knows nothing of it."),
            std::string::npos);
}

TEST(RankTrainers, RefuseRanksThatAreNotThere) {
  Digits s;
  TrainOptions options = options_for(Precision::f32, true);
  options.ranks = 4;
  expect_error<UsageError>([&] { s.train(options); },
                           "train: 4 ranks are asked for, and here are 1. Start as many processes "
                           "with mpirun -n 4.");
  PlannedRanks two(0, 2);
  const RanksScope scope(&two);
  expect_error<UsageError>([&] { s.train(options); },
                           "train: 4 ranks are asked for, and here are 2. Start as many processes "
                           "with mpirun -n 4.");
  options.ranks = 0;
  expect_error<UsageError>([&] { s.train(options); },
                           "train: here are 2 ranks, and none are asked for. Set "
                           "TrainOptions::ranks.");
  options.ranks = 2;
  options.accumulate = 7;
  expect_error<ValueError>([&] { s.train(options); },
                           "accumulation: 2 ranks do not share a window of 7 batches evenly. "
                           "Accumulate a multiple of 2.");
}

// What is said where the model ends with such a module.
template <class Module>
std::string refused_model(bool captured) {
  std::string said;
  run_ranks(2, [&](Ranks& ranks) {
    Digits s;
    s.model.then<Module>();
    s.optimizer.emplace(optim::AdamW(s.model.parameters()));
    TrainOptions options = options_for(Precision::f32, captured);
    options.ranks = 2;
    const std::string text = error_of<StateError>([&] { s.train(options); });
    if (ranks.rank() == 0) said = text;
  });
  return said;
}

// A batch norm of one's own would move on each rank by its own batches.
TEST(RankTrainers, RefuseBuffersThatEachWouldWriteAlone) {
  struct Counting : nn::Module {
    Counting() { seen = add_buffer("seen", zeros({1})); }
    Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
      if (mode.training) update_running_stats(seen, copy, ones({1}), ones({1}), 0.5, 2);
      return x;
    }
    Tensor seen, copy = zeros({1});
  };
  for (const bool captured : {true, false})
    EXPECT_EQ(refused_model<Counting>(captured),
              "train: the model writes 7.seen in every batch (update_running_stats), and each rank "
              "would write it in its own way. Train it without ranks, or keep it by "
              "nn::BatchNorm2d.");
}

// Ranks train and evaluate other numbers of batches.
TEST(RankTrainers, RefuseModelsWithCollectives) {
  struct Summing : nn::Module {
    Tensor forward(const Tensor& x, const nn::Mode&) const override { return all_reduce(x); }
  };
  EXPECT_EQ(
      refused_model<Summing>(true),
      "train: the model communicates with other ranks (all_to_all), which train and evaluate other "
      "numbers of batches. Leave it out.");
}

TEST(RankTrainers, RefuseABatchNormThatIsUsedTwice) {
  struct Twice : nn::Module {
    Twice() : norm(add<nn::BatchNorm2d>("norm", 1, init)) {}
    Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
      const Tensor image = reshape(x, {x.size(0), 2, 5, 1});
      return reshape(norm(norm(image, mode), mode), x.shape());
    }
    nn::Initializer init{.seed = 1};
    nn::BatchNorm2d& norm;
  };
  EXPECT_NE(refused_model<Twice>(true).find("one is used twice"), std::string::npos);
}

// A loss that is no number is everybody's.
TEST(RankTrainers, HearOfALossThatIsNotFinite) {
  TrainOptions options = options_for(Precision::f32, true);
  options.ranks = 2;
  run_ranks(2, [&](Ranks& ranks) {
    Digits s;
    Batches training = batches(s.training);
    training.at = [&, at = training.at](int64_t number) {
      data::Batch batch = at(number);
      if (ranks.rank() == 1 && number == 5) batch.x = full(batch.x.shape(), NAN);
      return batch;
    };
    EXPECT_NE(error_of<NumericError>([&] {
                Trainer(s.model, *s.optimizer, training, batches(s.test), options).run();
              }).find("the loss is not finite: nan in batch 6"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace plimsoll::train
