// Trainers whose ranks share out optimizer state and parameters: the same bits in weights, logs and
// saves in all stages; saves that any number and stage goes on from; what cannot be shared.
#include <gtest/gtest.h>

#include "optim/rmsprop.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/train/rank_training.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

TrainOptions in_stage(TrainOptions options, int64_t stage) {
  options.shard = stage;
  return options;
}

void expect_same(const TrainOptions& options, std::initializer_list<int64_t> numbers,
                 std::initializer_list<int64_t> stages,
                 const std::function<void(Digits&)>& change = {}) {
  const TemporaryFolder dir;
  const Left one = train(1, options, dir.text("one"), 0, change)[0];
  for (const int64_t n : numbers)
    for (const int64_t stage : stages)
      for (const Left& each :
           train(n, in_stage(options, stage), dir.text(cat(n, "-", stage)), 0, change)) {
        EXPECT_EQ(each.bits, one.bits) << n << " ranks in stage " << stage;
        EXPECT_EQ(each.log, one.log) << n << " ranks in stage " << stage;
        EXPECT_TRUE(each.saves == one.saves) << n << " ranks in stage " << stage;
      }
}

TEST(ShardedTrainers, LeaveTheSameBitsInAllStages) {
  expect_same(options_for(Precision::f32, true), {2, 4, 8}, {0, 1, 2, 3});
}

TEST(ShardedTrainers, LeaveThemIn16BitsAndEagerlyToo) {
  expect_same(options_for(Precision::f16, true), {4}, {1, 3});
  expect_same(options_for(Precision::bf16, true), {2}, {1, 3});
  expect_same(options_for(Precision::f16, false), {2}, {1, 3});
}

TEST(ShardedTrainers, LeaveThemWithOtherOptimizers) {
  TrainOptions options = options_for(Precision::f32, true);
  options.epochs = 1;
  const auto with = [](const auto& make) {
    return [make](Digits& s) { s.optimizer.emplace(make(s.model.parameters())); };
  };
  using Parameters = std::vector<Tensor>;
  expect_same(options, {2}, {1, 3}, with([](const Parameters& all) {
                return optim::SGD(all, {.learning_rate = 0.05, .momentum = 0.9});
              }));
  expect_same(options, {2}, {1}, with([](const Parameters& all) { return optim::SGD(all, {}); }));
  expect_same(options, {4}, {3},
              with([](const Parameters& all) { return optim::AdamW(all, {.amsgrad = true}); }));
  expect_same(options, {2}, {3}, with([](const Parameters& all) { return optim::NAdam(all); }));
  expect_same(options, {2}, {3}, with([](const Parameters& all) { return optim::RMSprop(all); }));
}

TEST(ShardedTrainers, PruneWhereParametersAreWhole) {
  TrainOptions options = options_for(Precision::f32, true);
  options.prune = 0.8;
  expect_same(options, {2}, {1, 2});
}

TEST(ShardedTrainers, GoOnWithAnotherNumberAndStage) {
  const TemporaryFolder dir;
  TrainOptions options = options_for(Precision::f16, true);
  const Left whole = train(1, options, dir.text("whole"))[0];
  options.resume = true;
  struct Process {
    int64_t n, stage, stop;
  };
  for (const auto& processes :
       {std::vector<Process>{{4, 3, 5}, {1, 0, 8}, {8, 1, 9}, {2, 3, 4}, {4, 2, 0}},
        {{4, 0, 5}, {1, 0, 8}, {8, 0, 9}, {2, 0, 0}}})
    for (const auto& [n, stage, stop] : processes) {
      options.stop_after = stop;  // a window is trained to its end
      const std::string run = dir.text(cat(processes.size(), " processes"));
      const std::vector<Left> left = train(n, in_stage(options, stage), run);
      EXPECT_EQ(left[0].result.over, stop == 0);
      if (stop != 0) continue;
      for (const Left& each : left) EXPECT_EQ(each.bits, whole.bits);
      EXPECT_EQ(left[0].log, whole.log);
    }
}

// From a save of each to each.
TEST(ShardedTrainers, GoOnFromAnyNumberAndStageToAnyOther) {
  struct Way {
    int64_t n, stage;
  };
  constexpr Way kWays[] = {{1, 0}, {2, 0}, {2, 1}, {2, 3}, {4, 2}, {4, 3}};
  const TemporaryFolder dir;
  TrainOptions options = options_for(Precision::f32, true);
  const Left whole = train(1, options, dir.text("whole"))[0];
  for (const auto& [n, stage] : kWays) {
    options.stop_after = 16;
    const std::string from = dir.text(cat(n, "-", stage));
    options.resume = false;
    train(n, in_stage(options, stage), from);
    options.stop_after = 0;
    options.resume = true;
    for (const auto& [to, other] : kWays) {
      const std::string run = cat(from, "-", to, "-", other);
      std::filesystem::copy(from, run, std::filesystem::copy_options::recursive);
      for (const Left& each : train(to, in_stage(options, other), run)) {
        EXPECT_EQ(each.bits, whole.bits) << run;
        EXPECT_EQ(each.log, whole.log) << run;
      }
    }
  }
}

TEST(ShardedTrainers, RefuseWhatCannotBeShared) {
  const auto refused = [](const std::function<void(TrainOptions&, Digits&)>& change) {
    std::string said;
    run_ranks(2, [&](Ranks& ranks) {
      Digits s;
      TrainOptions options = options_for(Precision::f32, true);
      options.ranks = 2;
      options.shard = 3;
      change(options, s);
      const std::string text = error_of<Error>([&] { s.train(options); });
      if (ranks.rank() == 0) said = text;
    });
    return said;
  };
  EXPECT_EQ(refused([](TrainOptions& options, Digits&) { options.shard = 4; }),
            "train: there is no such stage of sharding: 4. Use 1 for the optimizer's state, 2 for "
            "gradients too, 3 for parameters too.");
  EXPECT_EQ(refused([](TrainOptions& options, Digits&) { options.ranks = 0; }),
            "train: stage 3 shares things out among ranks, and there are none. Say how many "
            "ranks.");
  EXPECT_EQ(refused([](TrainOptions& options, Digits&) { options.prune = 0.5; }),
            "train: pruning looks at whole parameters, of which a rank has parts: stage 3. Use "
            "stage 2, or leave it out.");
  EXPECT_EQ(refused([](TrainOptions&, Digits& s) {
              s.optimizer.emplace(s.model.parameters(), 0.1, std::vector<std::string>{},
                                  [](const optim::ParameterUpdate&) {});
            }),
            "shards: the optimizer may read whole parameters, of which a rank has parts: stage 3. "
            "Use one whose rule reads Reads::own_element, or stage 0.");
}

}  // namespace
}  // namespace plimsoll::train
