// RankWindow: the mean of a window has the same bits on 1, 2, 4 and 8 ranks, also where the window
// is shorter; it is the mean over all that was counted.
#include "optim/ranks/rank_window.h"

#include <gtest/gtest.h>

#include "memory/step/step.h"
#include "ops/ops.h"
#include "optim/accumulation.h"
#include "tests/support/errors.h"
#include "tests/support/thread_ranks.h"

namespace plimsoll::optim {
namespace {

// Of batch `number`: gradients for two parameters, and what it counts.
struct Part {
  std::vector<Tensor> grads;
  Tensor count;
};
Part part(int64_t number, DType dtype) {
  const auto stream = static_cast<uint64_t>(number);
  return {{cast(uniform({3, 5}, -1, 1, stream), dtype), cast(uniform({17}, -9, 9, stream), dtype)},
          full({}, number == 2 ? 0 : static_cast<double>(1 + number % 5), {DType::f64})};
}

std::vector<Tensor> parameters(DType dtype) {
  return {zeros({3, 5}, {dtype}), zeros({17}, {dtype})};
}

// Of the parts that all ranks have, the values of one parameter after another.
std::vector<double> together(const std::vector<Tensor>& parts, const RankWindow& window,
                             const std::vector<Tensor>& like) {
  std::vector<std::vector<double>> of_each(like.size());
  for (size_t b = 0; b < parts.size(); ++b) {
    const Bucket& bucket = window.buckets()[b];
    const auto all = all_gather(parts[b]).to_vector<double>();
    for (size_t k = 0; k < bucket.parameters.size(); ++k) {
      const size_t i = bucket.parameters[k];
      const auto begin = all.begin() + bucket.offsets[k];
      of_each[i].assign(begin, begin + like[i].count());
    }
  }
  std::vector<double> values;
  for (const auto& some : of_each) values.insert(values.end(), some.begin(), some.end());
  return values;
}

// The gradients of a window of `batches` of at most `most`, on each of n ranks.
std::vector<std::vector<double>> mean(int64_t n, int64_t most, int64_t batches, DType dtype,
                                      bool captured) {
  std::vector<std::vector<double>> of_ranks(static_cast<size_t>(n));
  run_ranks(n, [&](Ranks& ranks) {
    Accumulation window(parameters(dtype), most, ranks.rank(), n);
    const StepFunction add = [&](std::span<const Tensor> in) {
      return window.add({in[0], in[1]}, window.weight(in[2]));
    };
    Step step(add, {.variant = [&] { return window.phase(); }});
    for (const int64_t size : {most, batches}) {  // the second finds what the first left
      const RankShare share = window.shared()->begin(size);
      for (int64_t run = 0; run < share.runs; ++run) {
        window.at(run, share.runs);
        const Part here = part(share.batches > 0 ? share.first + run : 0, dtype);
        const std::vector<Tensor> in{here.grads[0], here.grads[1], here.count};
        const std::vector<Tensor> means = captured ? step.run(in) : add(in);
        EXPECT_EQ(means.empty(), run + 1 < share.runs);
        auto& all = of_ranks[static_cast<size_t>(ranks.rank())];
        if (means.empty()) continue;
        const auto some = together(means, *window.shared(), parameters(dtype));
        all.insert(all.end(), some.begin(), some.end());
      }
    }
  });
  return of_ranks;
}

std::vector<double> expected_mean(int64_t batches, DType dtype) {
  std::vector<double> all(15 + 17);
  double counted = 0;
  for (int64_t b = 0; b < batches; ++b) {
    const Part here = part(b, dtype);
    const double count = here.count.item();
    counted += count;
    size_t i = 0;
    for (const Tensor& grad : here.grads)
      for (const double g : grad.to_vector<double>()) all[i++] += count * g;
  }
  for (double& g : all) g /= counted;
  return all;
}

TEST(RankWindow, HasTheSameBitsOnAnyNumberOfRanks) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (const auto& [most, batches] :
         {std::pair<int64_t, int64_t>{8, 8}, {8, 5}, {8, 1}, {16, 13}, {24, 24}, {4, 3}}) {
      const std::vector<double> one = mean(1, most, batches, dtype, false)[0];
      ASSERT_EQ(one.size(), 64U);
      const std::vector<double> expected = expected_mean(batches, dtype);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(one[32 + i], expected[i], dtype == DType::bf16 ? 0.05 : 1e-5) << i;
      for (const int64_t n : {2, 4, 8}) {
        if (most % n != 0) continue;
        for (const bool captured : {false, true})
          for (const auto& of_rank : mean(n, most, batches, dtype, captured))
            EXPECT_EQ(of_rank, one) << n << " ranks, " << batches << " of " << most;
      }
    }
}

// The mean is that of a plain accumulation, whose sum is from the left.
TEST(RankWindow, AddsInAnOrderOfItsOwnOnOtherNumbers) {
  EXPECT_TRUE(RankWindow::same_bits(8, 4));
  EXPECT_TRUE(RankWindow::same_bits(24, 8));
  EXPECT_FALSE(RankWindow::same_bits(6, 3));
  EXPECT_FALSE(RankWindow::same_bits(16, 16));
  for (const int64_t n : {3, 6}) {
    const auto of_ranks = mean(n, 6, 5, DType::f64, true);
    const std::vector<double> expected = expected_mean(5, DType::f64);
    for (const auto& of_rank : of_ranks) {
      EXPECT_EQ(of_rank, of_ranks[0]);
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(of_rank[32 + i], expected[i], 1e-12);
    }
  }
}

TEST(RankWindow, RefusesWhatCannotBeShared) {
  const std::vector<Tensor> wide = parameters(DType::f32);
  expect_error<ValueError>([&] { Accumulation(wide, 8, 0, 3); },
                           "accumulation: 3 ranks do not share a window of 8 batches evenly. "
                           "Accumulate a multiple of 3.");
}

}  // namespace
}  // namespace plimsoll::optim
