// Accumulation: a window of small batches that count unequally moves the parameters as one large
// batch does; eager and captured runs are equal to the bit, and the plan counts everything.
#include "optim/accumulation.h"

#include <gtest/gtest.h>

#include "autograd/autocast.h"
#include "autograd/gradients.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/loss_scaler.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

using optim::Accumulation;

constexpr int64_t kRows = 8, kTokens = 6, kClasses = 5, kFeatures = 7;

struct Data {
  Tensor x, y;  // [N, T, F], [N, T]
};

// Each row leaves out another number of its tokens; the third pair of rows all of them.
Data make_data(DType dtype, uint64_t window) {
  std::vector<int64_t> labels;
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t t = 0; t < kTokens; ++t) {
      const int64_t word = random_words(5, window, static_cast<uint64_t>(row * kTokens + t))[0];
      labels.push_back(t >= row || row / 2 == 2 ? -100 : word % kClasses);
    }
  return {uniform({kRows, kTokens, kFeatures}, -1, 1, window, {.dtype = dtype}),
          Tensor::of(std::span<const int64_t>(labels), {kRows, kTokens})};
}

struct How {
  DType dtype = DType::f64;
  int64_t parts = 1;
  bool captured = false;
  Precision precision = Precision::f32;
  bool scaled = false;
  std::vector<int64_t> windows = {4, 4, 4};  // batches in each, of those `parts` cut a window into
};

struct Trained {
  std::vector<double> parameters;
  int64_t updates;
};

Trained train(const How& how) {
  nn::Initializer init{.seed = 3, .placement = {.dtype = how.dtype}};
  nn::Sequential model;
  model.then<nn::Linear>(kFeatures, 9, init).then<nn::ReLU>();
  model.then<nn::LayerNorm>(9, init).then<nn::Linear>(9, kClasses, init);
  const std::vector<Tensor> parameters = model.parameters();
  optim::Adam optimizer(parameters, {.learning_rate = 0.05});
  const auto scaler = how.scaled ? optim::LossScaler::dynamic({.initial = 0x1p18, .interval = 3})
                                 : optim::LossScaler::none();
  Accumulation window(parameters, how.parts);
  const StepFunction function = [&](std::span<const Tensor> in) {
    const Autocast scope(how.precision);
    const Tensor loss = cross_entropy(model(in[0], nn::training()), in[1]);
    std::vector<Tensor> grads = gradients(scaler.scale(loss), parameters);
    grads = window.add(std::move(grads), optim::counted(in[1]));
    if (!grads.empty()) {
      auto [unscaled, skip] = scaler.unscale(std::move(grads));
      optimizer.update(optim::clip_by_global_norm(unscaled, 0.1).grads, skip);
      scaler.update(skip);
    }
    return std::vector{loss};
  };
  Step step(function, {.variant = [&] { return window.phase(); }});
  for (uint64_t w = 0; w < how.windows.size(); ++w) {
    const Data data = make_data(how.dtype, w);
    const int64_t rows = kRows / how.parts;
    const int64_t parts = std::min(how.parts, how.windows[w]);
    for (int64_t i = 0; i < parts; ++i) {
      window.at(i, parts);
      const std::vector<Tensor> in{contiguous(slice(data.x, 0, i * rows, (i + 1) * rows)),
                                   contiguous(slice(data.y, 0, i * rows, (i + 1) * rows))};
      how.captured ? step.run(in) : function(in);
    }
  }
  Trained result{{}, optimizer.steps_made()};
  for (const Tensor& p : parameters)
    for (const double v : p.to_vector<double>()) result.parameters.push_back(v);
  return result;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return worst / scale;
}

TEST(Accumulation, FourUnequalBatchesEqualOneLargeBatch) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    const Trained large = train({.dtype = dtype});
    for (const bool captured : {false, true}) {
      const Trained small = train({.dtype = dtype, .parts = 4, .captured = captured});
      EXPECT_LE(distance(small.parameters, large.parameters), tolerance) << name_of(dtype);
      EXPECT_EQ(small.updates, 3);
      EXPECT_EQ(large.updates, 3);
    }
  }
}

TEST(Accumulation, EagerAndCapturedAreEqualToTheBit) {
  const std::vector<int64_t> windows{4, 1, 4, 2, 3, 4, 4, 4};  // short ones among them
  for (const bool scaled : {false, true}) {
    How how{.dtype = DType::f32,
            .parts = 4,
            .precision = scaled ? Precision::f16 : Precision::bf16,
            .scaled = scaled,
            .windows = windows};
    const Trained eager = train(how);
    how.captured = true;
    const Trained captured = train(how);
    EXPECT_EQ(eager.parameters, captured.parameters);
    EXPECT_EQ(eager.updates, captured.updates);
    EXPECT_EQ(eager.updates < 8, scaled);  // 2^18 is too much for f16
    EXPECT_GT(eager.updates, 3);
  }
}

TEST(Accumulation, AShortWindowIsTheMeanOfWhatItHas) {
  const Tensor w = ones({1}).require_grad();
  Accumulation window(std::array{w}, 8);
  const auto part = [&](int64_t i, int64_t parts, double gradient, double count) {
    window.at(i, parts);
    return window.add({full({1}, gradient)}, full({}, count, {DType::f64}));
  };
  EXPECT_TRUE(part(0, 3, 1, 1).empty());
  EXPECT_TRUE(part(1, 3, NAN, 0).empty());  // the mean of a batch in which nothing counts
  EXPECT_EQ(part(2, 3, 5, 3)[0].item(), 4);
  EXPECT_EQ(part(0, 1, 7, 3)[0].item(), 7);
  EXPECT_TRUE(part(0, 2, NAN, 0).empty());
  EXPECT_EQ(part(1, 2, NAN, 0)[0].item(), 0);
}

// All phases of a window in one arena: what the pool saw is the largest of their plans.
TEST(Accumulation, PlansOfAllPhasesShareOneArena) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  nn::Initializer init{.seed = 3};
  nn::Sequential model;
  model.then<nn::Linear>(64, 256, init).then<nn::ReLU>().then<nn::Linear>(256, 8, init);
  const std::vector<Tensor> parameters = model.parameters();
  optim::Adam optimizer(parameters);
  Accumulation window(parameters, 3);
  Step step(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor loss = cross_entropy(model(x), y);
        const auto grads = window.add(gradients(loss, parameters), optim::counted(y));
        if (!grads.empty()) optimizer.update(optim::clip_by_global_norm(grads, 1).grads);
        return loss;
      },
      {.variant = [&] { return window.phase(); }});
  const Tensor x = zeros({32, 64}), y = zeros({32}, {.dtype = DType::i64});
  int64_t outside = 0, arena = 0;  // the last phase uses all that lies outside
  for (int64_t i = 0; i < 3; ++i) {
    window.at(i, 3);
    const Plan& plan = step.plan(x, y);
    EXPECT_GE(plan.at_peak[static_cast<size_t>(MemoryClass::gradient)],
              (64 * 256 + 256 + 256 * 8 + 8) * 4);  // the sums are in the plan
    outside = std::max(outside, plan.total_bytes() - plan.arena_bytes);
    arena = std::max(arena, plan.arena_bytes);
  }
  pool->reset_peak();
  for (int64_t i = 0; i < 9; ++i) {
    window.at(i % 3, 3);
    step(x, y);
  }
  EXPECT_EQ(pool->stats().peak.bytes, outside + arena);
}

TEST(Accumulation, RefusesPartsThatAreNone) {
  Accumulation window(std::array{ones({2})}, 4);
  EXPECT_EQ(error_of<ValueError>([&] { window.at(4, 4); }),
            "accumulation: part 4 of 4 is not in a window of up to 4. Count parts from 0, and make "
            "the accumulation for the longest window.");
  EXPECT_EQ(error_of<ValueError>([&] { window.at(0, 5); }),
            "accumulation: part 0 of 5 is not in a window of up to 4. Count parts from 0, and make "
            "the accumulation for the longest window.");
  EXPECT_EQ(error_of<ValueError>([&] { Accumulation(std::array{ones({2})}, 0); }),
            "accumulation: a window has no batches: 0. Use 1 or more.");
  window.at(0, 4);
  EXPECT_EQ(error_of<ShapeError>([&] { window.add({}, ones({}, {DType::f64})); }),
            "accumulation: the number of gradients is wrong: 0 for 1 parameters. Pass one for "
            "each, in the same order.");
  Step step([&](const Tensor& x) {
    window.at(1, 4);
    return x;
  });
  EXPECT_EQ(error_of<StateError>([&] { step.plan(Metas{{{2}}}); }),
            "accumulation: the part is chosen inside a captured step, which would keep it for "
            "ever: 1. Choose it before the step.");
}

}  // namespace
}  // namespace plimsoll
