// Pruning: the schedule against its formula, masks against cases worked out by hand, and training.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradients.h"
#include "memory/passes/early_update.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/prune.h"
#include "tests/support/errors.h"

namespace plimsoll::optim {
namespace {

using Floats = std::vector<float>;

// One weight of one row, pruned once.
Floats pruned(const Floats& values, double share) {
  const Tensor w = Tensor::of<float>(values, {static_cast<int64_t>(values.size())});
  Pruner pruner({{"w", w}}, {.schedule = {.initial = share, .final = share}});
  EXPECT_TRUE(pruner.prune(0));
  return w.to_vector<float>();
}

Floats grouped(const Floats& values, Shape shape, Groups groups) {
  const Tensor w = Tensor::of<float>(values, shape);
  Pruner pruner({{"w", w}}, {.groups = groups});
  EXPECT_TRUE(pruner.prune(0));
  return w.to_vector<float>();
}

int64_t zeros_in(const Floats& values) { return std::ranges::count(values, 0.0F); }

// s_f + (s_i - s_f) (b - t)^3 / (b - a)^3 with the powers in whole numbers, in long double.
TEST(SparsitySchedule, IsTheCubicOfTheToolkit) {
  const SparsitySchedule s{.initial = 0.1, .final = 0.85, .begin = 130, .end = 1130};
  for (int64_t step = 0; step < 1400; ++step) {
    const int64_t left = step < 130 ? 1000 : step > 1130 ? 0 : 1130 - step;
    const auto cube = static_cast<long double>(left * left * left) / 1'000'000'000.0L;
    EXPECT_NEAR(s.at(step), static_cast<double>(0.85L + (0.1L - 0.85L) * cube), 1e-12) << step;
  }
  EXPECT_DOUBLE_EQ(s.at(630), 0.85 - 0.75 / 8);
  const SparsitySchedule square{.initial = 0, .final = 0.5, .begin = 0, .end = 4, .power = 2};
  EXPECT_DOUBLE_EQ(square.at(1), 0.5 - 0.5 * 9 / 16);
  const SparsitySchedule at_once{.initial = 0.2, .final = 0.5, .begin = 3, .end = 3};
  EXPECT_EQ(at_once.at(0), 0.5);
}

TEST(SparsitySchedule, ReachesTheFinalShare) {
  const SparsitySchedule plain{.final = 0.8};
  EXPECT_TRUE(plain.due(0));
  EXPECT_EQ(plain.at(0), 0.8);
  for (const int64_t frequency : {1, 3, 7, 100}) {
    const SparsitySchedule s{.final = 0.8, .begin = 4, .end = 11, .frequency = frequency};
    double share = 0;
    for (int64_t step = 0; step < 30; ++step)
      if (s.due(step)) share = s.at(step);
    EXPECT_EQ(share, 0.8) << frequency;
  }
}

TEST(SparsitySchedule, IsDueEveryFrequencyStepsFromBeginAndAtTheEnd) {
  const SparsitySchedule s{.final = 0.5, .begin = 4, .end = 11, .frequency = 3};
  std::vector<int64_t> due;
  for (int64_t step = 0; step < 30; ++step)
    if (s.due(step)) due.push_back(step);
  EXPECT_EQ(due, (std::vector<int64_t>{4, 7, 10, 11}));
}

TEST(Prune, KeepsTheLargestMagnitudes) {
  EXPECT_EQ(pruned({3, -1, 0.5, -4, 2, 0.25}, 0.5), (Floats{3, 0, 0, -4, 2, 0}));
  EXPECT_EQ(pruned({1, 2, 3}, 0), (Floats{1, 2, 3}));
}

TEST(Prune, KeepsTies) {
  EXPECT_EQ(pruned({0.5, -0.5, 0.1F, 0.5}, 0.5), (Floats{0.5, -0.5, 0, 0.5}));
  EXPECT_EQ(pruned({0, 0, 0, 1}, 0.5), (Floats{0, 0, 0, 1}));
}

TEST(Prune, RoundsHalvesToEvenAndKeepsOne) {
  EXPECT_EQ(zeros_in(pruned({1, 2, 3, 4, 5}, 0.5)), 3);        // keeps 2.5 -> 2
  EXPECT_EQ(zeros_in(pruned({1, 2, 3, 4, 5, 6, 7}, 0.5)), 3);  // keeps 3.5 -> 4
  EXPECT_EQ(pruned({1, 3, 2}, 0.99), (Floats{0, 3, 0}));
}

TEST(Prune, KeepsNaNToBeFound) {
  const Floats values = pruned({1, NAN, 2, 3}, 0.5);
  EXPECT_EQ(values[0], 0);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[3], 3);
}

TEST(Prune, GroupsLieAlongTheLastAxis) {
  EXPECT_EQ(grouped({1, -2, 3, 0.5, 4, 4, 4, 4}, {1, 8}, {}), (Floats{0, -2, 3, 0, 4, 4, 0, 0}));
  // Rows of 5: the last group of a row has one element, which the zeros that fill it leave alone.
  EXPECT_EQ(grouped({1, 2, 3, 4, 5, 9, 8, 7, 6, 5}, {2, 5}, {}),
            (Floats{0, 0, 3, 4, 5, 9, 8, 0, 0, 5}));
  EXPECT_EQ(grouped({1, 2, 3, 6, 5, 4}, {6}, {.zeros = 1, .group = 3}), (Floats{0, 2, 3, 6, 5, 0}));
}

// `values` become `later` between two times of making masks, the second with the same share.
Floats pruned_twice(const Floats& values, const Floats& later, const PruneOptions& options) {
  const Tensor w = Tensor::of<float>(values, {static_cast<int64_t>(values.size())});
  Pruner pruner({{"w", w}}, options);
  EXPECT_TRUE(pruner.prune(0));
  w.write(std::span<const float>(later));
  EXPECT_TRUE(pruner.prune(1));
  pruner.apply();
  const Floats full(values.size(), 5);  // what is 0 after this, is pruned
  w.write(std::span<const float>(full));
  pruner.apply();
  return w.to_vector<float>();
}

TEST(Prune, WhatIsPrunedStaysSo) {
  const PruneOptions half{.schedule = {.initial = 0.5, .final = 0.5, .end = 1, .frequency = 1}};
  // A kept weight that became 0 is as small as the pruned ones, which all would be kept with it.
  EXPECT_EQ(pruned_twice({1, 2, 3, 4}, {0, 0, 0, 4}, half), (Floats{0, 0, 5, 5}));
  // An update made the pruned ones large, and nobody applied the masks.
  EXPECT_EQ(pruned_twice({1, 2, 3, 4}, {9, 8, 3, 4}, half), (Floats{0, 0, 5, 5}));
  const PruneOptions groups{.schedule = {.end = 1, .frequency = 1}, .groups = Groups{}};
  EXPECT_EQ(pruned_twice({1, 2, 3, 4}, {0, 0, 0, 4}, groups), (Floats{0, 0, 5, 5}));
  EXPECT_EQ(pruned_twice({1, 2, 3, 4}, {9, 8, 3, 4}, groups), (Floats{0, 0, 5, 5}));
  // A larger share takes from what is left.
  const PruneOptions more{.schedule = {.initial = 0.25, .final = 0.5, .end = 1, .frequency = 1}};
  EXPECT_EQ(pruned_twice({1, 2, 3, 4}, {9, 4, 3, 2}, more), (Floats{0, 5, 5, 0}));
}

struct Net {
  nn::Initializer init{.seed = 3};
  nn::Sequential model;
  Tensor x = Tensor::of<float>(Floats(64 * 12), {64, 12});
  Tensor y = zeros({64}, {.dtype = DType::i64});
  Net() {
    model.then<nn::Linear>(12, 40, init).then<nn::ReLU>().then<nn::Linear>(40, 4, init);
    Floats values;
    std::vector<int64_t> labels;
    for (int i = 0; i < 64 * 12; ++i)
      values.push_back(static_cast<float>((i * 37 % 101) / 50.5 - 1));
    for (int i = 0; i < 64; ++i) labels.push_back(i % 4);
    x.write(std::span<const float>(values));
    y.write(std::span<const int64_t>(labels));
  }
  // Every parameter after `steps` steps.
  Floats train(int steps, bool captured) {
    Adam optimizer(model.parameters(), {.learning_rate = 0.01});
    Pruner pruner(prunable(model.named_parameters()),
                  {.schedule = {.final = 0.75, .begin = 2, .end = 12, .frequency = 2}});
    const auto function = [&](const Tensor& in, const Tensor& labels) {
      Tensor loss = cross_entropy(model(in, nn::training()), labels);
      optimizer.update(gradients(loss, model.parameters()));
      pruner.apply();
      return loss;
    };
    Step step(function);
    Floats before;
    for (int i = 0; i < steps; ++i) {
      pruner.prune(optimizer.steps_made());
      captured ? step(x, y) : function(x, y);
      const Floats now = model.parameters()[0].to_vector<float>();
      for (size_t k = 0; i > 2 && k < now.size(); ++k)
        EXPECT_TRUE(before[k] != 0 || now[k] == 0) << "weight " << k << " came back";
      before = now;
      if (i < 2) {
        EXPECT_EQ(pruner.sparsity().all.zeros, 0);
      }
    }
    const Sparsity found = pruner.sparsity();
    EXPECT_EQ(found.rows.size(), 2U);
    EXPECT_EQ(found.rows[0].name, "0.weight");
    EXPECT_EQ(found.rows[0].zeros, 360);  // of 12 x 40
    EXPECT_EQ(found.rows[1].zeros, 120);  // of 40 x 4
    EXPECT_EQ(found.all.share(), 0.75);
    EXPECT_NE(found.text().find("360 of          480 are 0   75.00 %  0.weight\n"),
              std::string::npos)
        << found.text();
    Floats all;
    for (const Tensor& p : model.parameters())
      for (const float v : p.to_vector<float>()) all.push_back(v);
    return all;
  }
};

TEST(Prune, CapturedAndEagerGiveTheSameBits) {
  EXPECT_EQ(Net().train(20, true), Net().train(20, false));
}

TEST(Prune, MasksTakeAByteAWeightUntilStripped) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const Tensor w = ones({10, 13});
  const int64_t before = pool->stats().in_use;
  Pruner pruner({{"w", w}}, {});
  EXPECT_EQ(pool->stats().in_use, before + 192);  // 130 in blocks of 64
  EXPECT_EQ(pool->stats().by_class[static_cast<size_t>(MemoryClass::optimizer)], 192);
  EXPECT_EQ(pruner.state().size(), 1U);
  pruner.strip();
  EXPECT_EQ(pool->stats().in_use, before);
  EXPECT_FALSE(pruner.prune(0));
}

TEST(Prune, RefusesWhatCannotBe) {
  const Tensor w = ones({2, 2});
  const auto make = [&](const PruneOptions& options) { Pruner({{"w", w}}, options); };
  expect_error<ValueError>([&] { make({.schedule = {.final = 1}}); },
                           "prune: the shares are out of range: initial 0, final 1. Use 0 <= "
                           "initial <= final < 1.");
  expect_error<ValueError>([&] { make({.schedule = {.initial = 0.6}}); },
                           "prune: the shares are out of range: initial 0.6, final 0.5. Use 0 <= "
                           "initial <= final < 1.");
  EXPECT_THROW(make({.schedule = {.begin = 5, .end = 4}}), ValueError);
  EXPECT_THROW(make({.schedule = {.frequency = 0}}), ValueError);
  EXPECT_THROW(make({.schedule = {.power = NAN}}), ValueError);
  EXPECT_THROW(make({.groups = Groups{.zeros = 4}}), ValueError);
  EXPECT_THROW(Pruner({}, {}), ValueError);
  EXPECT_THROW(Pruner({{"w", Tensor()}}, {}), StateError);
  EXPECT_THROW(Pruner({{"w", zeros({2}, {.dtype = DType::i64})}}, {}), DTypeError);
  Pruner pruner({{"w", w}}, {});
  EXPECT_THROW(capture(
                   [&](auto in) {
                     pruner.prune(0);
                     return std::vector{relu(in[0])};
                   },
                   Metas{{{2}}}),
               StateError);
}

}  // namespace
}  // namespace plimsoll::optim
