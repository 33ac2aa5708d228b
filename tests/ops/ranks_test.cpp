// Collectives, on ranks that are threads: what they give, and gradients of the sum of all ranks'
// losses against differences.
#include <gtest/gtest.h>

#include "autograd/gradients.h"
#include "core/engine/trace.h"
#include "core/ranks/planned_ranks.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "tests/support/errors.h"
#include "tests/support/thread_ranks.h"

namespace plimsoll {
namespace {

using Op = std::function<Tensor(const Tensor&)>;

std::vector<double> drawn(int64_t n, uint64_t stream) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(unit_float(random_words(5, stream, static_cast<uint64_t>(i))[0]) - 0.5);
  return values;
}

// A loss of this rank that weighs each element of y differently, and not linearly.
Tensor loss_of(const Op& op, const Tensor& x, int64_t rank) {
  const Tensor y = op(x);
  const std::vector<double> weights = drawn(y.count(), 100 + static_cast<uint64_t>(rank));
  return sum(y * y * Tensor::of<double>(weights, y.shape()));
}

// Of x [N, 3] on each rank; `x` has those of all of them.
double total_loss(const Op& op, int64_t n, const std::vector<std::vector<double>>& x) {
  std::vector<double> losses(static_cast<size_t>(n));
  run_ranks(n, [&](Ranks& ranks) {
    const auto r = static_cast<size_t>(ranks.rank());
    losses[r] = loss_of(op, Tensor::of<double>(x[r], {n, 3}), ranks.rank()).item();
  });
  double total = 0;
  for (const double loss : losses) total += loss;
  return total;
}

TEST(Collectives, HaveTheGradientsOfTheSumOfAllLosses) {
  const std::map<std::string, Op> ops{
      {"all_to_all", [](const Tensor& x) { return all_to_all(x); }},
      {"all_gather", [](const Tensor& x) { return all_gather(x); }},
      {"reduce_scatter", [](const Tensor& x) { return reduce_scatter(x); }},
      {"all_reduce", [](const Tensor& x) { return all_reduce(x); }},
      {"all_reduce of 3", [](const Tensor& x) { return all_reduce(slice(x, 0, 0, 1)); }},
      {"all_reduce of 1", [](const Tensor& x) { return all_reduce(sum(x)); }},
      {"broadcast", [](const Tensor& x) { return broadcast(x, 1); }}};
  for (const int64_t n : {2, 4})
    for (const auto& [name, op] : ops) {
      std::vector<std::vector<double>> x, grads(static_cast<size_t>(n));
      for (int64_t r = 0; r < n; ++r) x.push_back(drawn(3 * n, static_cast<uint64_t>(r)));
      run_ranks(n, [&, op = op](Ranks& ranks) {
        const auto r = static_cast<size_t>(ranks.rank());
        const Tensor leaf = Tensor::of<double>(x[r], {n, 3}).require_grad();
        grads[r] =
            gradients(loss_of(op, leaf, ranks.rank()), std::array{leaf})[0].to_vector<double>();
      });
      for (size_t r = 0; r < x.size(); ++r)
        for (size_t i = 0; i < x[r].size(); ++i) {
          constexpr double kStep = 1e-5;
          auto moved = x;
          moved[r][i] += kStep;
          const double above = total_loss(op, n, moved);
          moved[r][i] -= 2 * kStep;
          const double difference = (above - total_loss(op, n, moved)) / (2 * kStep);
          EXPECT_NEAR(grads[r][i], difference, 1e-6 * std::max(1.0, std::abs(difference)))
              << name << " on " << n << ", rank " << r << ", element " << i;
        }
    }
}

// Two products whose columns, then rows, lie on several ranks: as on one, the gradients too.
TEST(Collectives, MakeALayerOfSeveralRanks) {
  constexpr int64_t kBatch = 3, kIn = 4, kHidden = 8;
  const Tensor x = Tensor::of<double>(drawn(kBatch * kIn, 1), {kBatch, kIn}),
               up = Tensor::of<double>(drawn(kIn * kHidden, 2), {kIn, kHidden}),
               down = Tensor::of<double>(drawn(kHidden * kIn, 3), {kHidden, kIn});
  const auto results = [](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& y) {
    std::vector<Tensor> all = gradients(sum(y * y), std::array{a, b, c});
    all.push_back(y.detach());
    return all;
  };
  const Tensor whole_x = x.require_grad(), whole_up = up.require_grad(),
               whole_down = down.require_grad();
  const std::vector<Tensor> expected =
      results(whole_x, whole_up, whole_down, matmul(gelu(matmul(whole_x, whole_up)), whole_down));
  const auto expect_near = [](const Tensor& a, const Tensor& b) {
    const auto actual = a.to_vector<double>(), wanted = b.to_vector<double>();
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(actual[i], wanted[i], 1e-12);
  };
  for (const int64_t n : {2, 4})
    run_ranks(n, [&](Ranks& ranks) {
      const int64_t part = kHidden / n, begin = ranks.rank() * part;
      const Tensor here = x.require_grad(),
                   a = contiguous(slice(up, 1, begin, begin + part)).require_grad(),
                   b = contiguous(slice(down, 0, begin, begin + part)).require_grad();
      const std::vector<Tensor> actual =
          results(here, a, b, summed(matmul(gelu(matmul(replicated(here), a)), b)));
      expect_near(actual[0], expected[0]);
      expect_near(actual[1], slice(expected[1], 1, begin, begin + part));
      expect_near(actual[2], slice(expected[2], 0, begin, begin + part));
      expect_near(actual[3], expected[3]);
    });
}

TEST(Collectives, AreNotEmittedOnOneRank) {
  const auto program = [](Ranks* ranks) {
    const RanksScope scope(ranks);
    return capture(
        [](std::span<const Tensor> in) {
          const Tensor &x = in[0], parts = reshape(x, {1, 6});
          return std::vector{relu(all_reduce(replicated(x))), relu(summed(broadcast(x, 0))),
                             relu(all_gather(x)), relu(reduce_scatter(parts)),
                             relu(sum_parts(all_to_all(parts)))};
        },
        std::array{Meta{{6}}});
  };
  PlannedRanks one(0, 1);
  for (Ranks* ranks : {static_cast<Ranks*>(nullptr), static_cast<Ranks*>(&one)})
    for (const Instruction& instruction : program(ranks).instructions)
      EXPECT_STREQ(instruction.op->name, "relu");
}

TEST(Collectives, ArePlannedForRanksThatAreNotThere) {
  PlannedRanks ranks(3, 64);
  const RanksScope scope(&ranks);
  const Program program =
      capture([](std::span<const Tensor> in) { return std::vector{all_reduce(in[0])}; },
              std::array{Meta{{1000}}});
  int64_t collectives = 0;
  for (const Instruction& instruction : program.instructions)
    collectives += instruction.op->collective != nullptr;
  EXPECT_EQ(collectives, 2);
  EXPECT_EQ(program.results[0].meta.shape, Shape({1000}));
  expect_error<StateError>([] { all_gather(ones({2})); },
                           "ranks: 64 of them are planned, and only this one is there: rank 3. "
                           "Start as many processes with mpirun.");
}

TEST(Collectives, RefuseOtherRanksThanTheyWereMadeFor) {
  PlannedRanks two(0, 2);
  const Program program = [&] {
    const RanksScope scope(&two);
    return capture([](std::span<const Tensor> in) { return std::vector{all_gather(in[0])}; },
                   std::array{Meta{{2}}});
  }();
  const Instruction& instruction = program.instructions.front();
  const std::string expected =
      "all_gather: it is made for 2 ranks and runs on 1. Capture the step where it runs, and keep "
      "the RanksScope.";
  expect_error<StateError>([&] { instruction.op->cpu({{}, {}, instruction.attrs, {}}); }, expected);
}

// What ranks add, each its own part of a tree, has the bits of one that adds all of it.
TEST(SumParts, HasTheBitsOfOneTree) {
  constexpr int64_t kParts = 16, kWidth = 1001;
  const std::vector<double> values = drawn(kParts * kWidth, 9);
  const Tensor x = cast(Tensor::of<double>(values, {kParts, kWidth}), DType::f32);
  const std::vector<float> whole = sum_parts(x).to_vector<float>();
  for (const int64_t n : {2, 4, 8, 16})
    run_ranks(n, [&](Ranks& ranks) {
      const int64_t own = kParts / n, begin = ranks.rank() * own;
      const Tensor part = sum_parts(contiguous(slice(x, 0, begin, begin + own)));
      EXPECT_EQ(all_reduce(part).to_vector<float>(), whole) << n;
    });
}

}  // namespace
}  // namespace plimsoll
