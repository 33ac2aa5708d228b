// Shards: a captured step leaves the same bits in every stage, takes what was planned on every
// rank, also within budgets, and its state is what the closed forms say.
#include "optim/ranks/shards.h"

#include <gtest/gtest.h>

#include "autograd/gradients.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/passes.h"
#include "memory/step/step.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/accumulation.h"
#include "optim/adam.h"
#include "tests/support/errors.h"
#include "tests/support/thread_ranks.h"

namespace plimsoll::optim {
namespace {

constexpr int64_t kWindow = 4, kBatch = 64, kWidth = 64;

// A net whose parameters fill several buckets, in two groups of the optimizer.
struct Net {
  nn::Initializer init{.seed = 7};
  nn::Sequential model;
  std::vector<Tensor> parameters;
  std::optional<AdamW> matrices, vectors;
  std::optional<ParameterGroups> groups;
  std::optional<Accumulation> window;
  std::optional<Shards> shards;
  LossScaler scaler = LossScaler::dynamic();

  Net(int64_t rank, int64_t ranks, int64_t stage) {
    for (int i = 0; i < 6; ++i) model.then<nn::Linear>(kWidth, kWidth, init).then<nn::GELU>();
    parameters = model.parameters();
    std::vector<Tensor> some, others;
    for (const Tensor& p : parameters) (p.rank() == 2 ? some : others).push_back(p);
    matrices.emplace(some, AdamWOptions{.weight_decay = 0.1});
    vectors.emplace(others, AdamWOptions{.weight_decay = 0});
    groups.emplace(std::vector<ParameterGroup>{{"matrices", *matrices}, {"vectors", *vectors}},
                   parameters);
    window.emplace(parameters, kWindow, rank, ranks, groups->group_of_each(), stage);
    shards.emplace(parameters, *groups, *window->shared(), rank, ranks, stage);
  }

  std::vector<Tensor> step(std::span<const Tensor> in) const {
    Tensor loss;
    std::vector<Tensor> parts;
    {
      const Shards::Gathered gathered(shards);
      loss = mean(square(model(in[0], nn::training()) - in[1]));
      const Tensor weight = window->weight(full({}, kBatch, {DType::f64}));
      parts = window->add(gradients(scaler.scale(loss), parameters), weight);
    }
    if (!parts.empty()) scaler.update(shards->update(std::move(parts), scaler, 0.5).skip);
    return {loss.detach()};
  }
  static Metas metas() { return {{{kBatch, kWidth}}, {{kBatch, kWidth}}}; }
};

struct Left {
  std::vector<double> weights;
  int64_t planned, measured, budget;
};

// Some updates on n ranks; `share` of what a plan within a budget saves at most, or no budget.
std::vector<Left> train(int64_t n, int64_t stage, std::optional<double> share = {}) {
  std::vector<Left> left(static_cast<size_t>(n));
  run_ranks(n, [&](Ranks& ranks) {
    const auto pool = std::make_shared<PooledAllocator>(host_provider(), INT64_MAX - 1);
    const AllocatorScope scope(pool);
    Net net(ranks.rank(), n, stage);
    const StepFunction function = [&](std::span<const Tensor> in) { return net.step(in); };
    const int64_t runs = kWindow / n;
    StepOptions options{.planning = {CostModel::model, 0.05},
                        .variant = [&] { return net.window->phase(); }};
    net.window->at(runs - 1, runs);
    if (share) {
      const BudgetPlanner planner =
          budget_planner(capture_live(function, Net::metas()), options.planning);
      options.budget = planner.smallest() +
                       static_cast<int64_t>(
                           *share * static_cast<double>(planner.largest() - planner.smallest()));
    }
    Step step(function, options);
    int64_t outside = 0, arena = 0;
    for (const int64_t run : {int64_t{0}, runs - 1}) {
      net.window->at(run, runs);
      const Plan& plan = step.plan(Net::metas());
      outside = std::max(outside, plan.total_bytes() - plan.arena_bytes);
      arena = std::max(arena, plan.arena_bytes);
    }
    pool->reset_peak();
    for (int64_t update = 0; update < 3; ++update) {
      const RankShare own = net.window->shared()->begin(kWindow);
      for (int64_t run = 0; run < own.runs; ++run) {
        net.window->at(run, own.runs);
        const MemoryScope input(MemoryClass::input);
        const auto stream = static_cast<uint64_t>(update * kWindow + own.first + run);
        step.run({uniform({kBatch, kWidth}, -1, 1, stream),
                  uniform({kBatch, kWidth}, -1, 1, 1000 + stream)});
      }
    }
    Left& own = left[static_cast<size_t>(ranks.rank())];
    own.planned = outside + arena;
    own.measured = pool->stats().peak.bytes;
    own.budget = options.budget;
    net.shards->gather_for_good();
    for (const Tensor& p : net.parameters) {
      const auto values = p.to_vector<double>();
      own.weights.insert(own.weights.end(), values.begin(), values.end());
    }
  });
  return left;
}

TEST(Shards, LeaveTheSameBitsAndTakeWhatWasPlanned) {
  const Left one = train(1, 0)[0];
  EXPECT_EQ(one.measured, one.planned);
  int64_t before = one.planned + 1;
  for (const int64_t stage : {0, 1, 2, 3})
    for (const int64_t n : {2, 4}) {
      const std::vector<Left> left = train(n, stage);
      for (const Left& each : left) {
        EXPECT_EQ(each.weights, one.weights) << n << " ranks in stage " << stage;
        EXPECT_EQ(each.planned, left[0].planned) << n << " ranks in stage " << stage;
        EXPECT_EQ(each.measured, each.planned) << n << " ranks in stage " << stage;
      }
      if (n < 4) continue;
      EXPECT_LE(left[0].planned, before) << "stage " << stage;
      before = left[0].planned;
    }
}

TEST(Shards, GatherParametersAgainWithinABudget) {
  const Left one = train(1, 0)[0];
  for (const double share : {0.0, 0.5, 1.0})
    for (const Left& each : train(4, 3, share)) {
      EXPECT_EQ(each.weights, one.weights) << share;
      EXPECT_LE(each.measured, each.budget) << share;
    }
}

// 12P, 4P + 8P/N, 12P/N, to within a chunk for each tensor and rank.
TEST(Shards, TakeWhatTheClosedFormsSay) {
  const int64_t n = 4;
  for (const int64_t stage : {0, 1, 2, 3}) {
    std::array<int64_t, kMemoryClasses> bytes{};
    int64_t parameters = 0, tensors = 0;
    run_ranks(n, [&](Ranks& ranks) {
      Net net(ranks.rank(), n, stage);
      if (ranks.rank() > 0) return;
      net.window->at(0, 1);
      for (const Tensor& p : net.parameters) parameters += p.count();
      tensors = std::ssize(net.parameters);
      for (const Buffer& buffer :
           capture([&](auto in) { return net.step(in); }, Net::metas()).buffers)
        if (buffer.kind == Buffer::Kind::external) at(bytes, buffer.memory_class) += buffer.bytes;
    });
    const int64_t slack = 4 * Bucket::kChunk * (tensors + n * tensors);
    const int64_t whole = 4 * parameters, part = whole / n;
    EXPECT_NEAR(at(bytes, MemoryClass::parameter), stage == 3 ? part : whole, slack);
    EXPECT_NEAR(at(bytes, MemoryClass::optimizer), 2 * (stage == 0 ? whole : part), 2 * slack);
  }
}

TEST(Shards, AreInNobodysHandsBetweenSteps) {
  run_ranks(2, [](Ranks& ranks) {
    const Net net(ranks.rank(), 2, 3);
    EXPECT_EQ(error_of<StateError>([&] { net.parameters[1].to_vector<float>(); }),
              "to_vector: other ranks have parts of this parameter: f32 [64] on cpu. Look at it "
              "when training is over.");
    const Tensor all = net.shards->parameters()[1].gathered();
    EXPECT_EQ(all.count(), kWidth);
  });
}

TEST(Shards, RefuseAStageThatThereIsNot) {
  run_ranks(2, [](Ranks& ranks) {
    EXPECT_EQ(error_of<ValueError>([&] { Net(ranks.rank(), 2, 4); }),
              "shards: there is no such stage: 4. Use 0 for none of it, up to 3 for parameters "
              "too.");
  });
}

}  // namespace
}  // namespace plimsoll::optim
