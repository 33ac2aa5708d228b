// Eager steps on a GPU have one launch for many parameters, with the bits of one for each. Skipped
// by name where there is no GPU; simulated_cuda_tests runs them everywhere and counts launches.
#include "core/joined_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/apply.h"
#include "core/late.h"
#include "core/transfer.h"
#include "memory/pooled_allocator.h"
#include "ops/ops.h"
#include "optim/accumulation.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/loss_scaler.h"
#include "optim/prune.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"

namespace simulated {
[[gnu::weak]] int64_t queued();  // kernels and copies so far, on all streams
}

namespace plimsoll {
namespace {

class CudaJoinedCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  }
};

// What f() launches; 0 on a GPU, where nobody counts.
int64_t launches_of(const std::function<void()>& f) {
  const int64_t before = simulated::queued ? simulated::queued() : 0;
  f();
  return simulated::queued ? simulated::queued() - before : 0;
}
void expect_launches(int64_t launches, int64_t expected) {
  EXPECT_EQ(launches, simulated::queued ? expected : 0);
}

// Calls one by one, as looking at what each of them wrote makes them.
ApplyMode mode_of(bool one_by_one) {
  ApplyMode mode = apply_mode();
  mode.check_finite = one_by_one;
  return mode;
}

Tensor there(const Tensor& x) { return to_device(x, Device::cuda); }
Tensor drawn(Shape shape, int seed) {
  return there(uniform(shape, -1, 1, static_cast<uint64_t>(seed)));
}

constexpr int kParameters = 9;
std::vector<Tensor> many(int seed) {
  std::vector<Tensor> all;
  for (int i = 0; i < kParameters; ++i)
    all.push_back(drawn({i == 5 ? 16'391 : i % 4 + 1}, seed + i));  // 5: more than a chunk
  return all;
}

std::vector<std::vector<float>> values_of(std::span<const Tensor> tensors) {
  std::vector<std::vector<float>> values;
  for (const Tensor& t : tensors) values.push_back(t.to_vector<float>());
  return values;
}

using Make = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)>;
template <class O, class Options>
Make make(const Options& options) {
  return [=](const std::vector<Tensor>& w) { return std::make_unique<O>(w, options); };
}

TEST_F(CudaJoinedCalls, EachOptimizerUpdatesItsParametersInOneLaunch) {
  optim::SGD(many(0), {}).update(many(100));  // the first of a process clears the words for faults
  for (const Make& make :
       {make<optim::SGD>(optim::SgdOptions{}), make<optim::SGD>(optim::SgdOptions{.momentum = 0.9}),
        make<optim::Adam>(optim::AdamOptions{}),
        make<optim::Adam>(optim::AdamOptions{.amsgrad = true}),
        make<optim::AdamW>(optim::AdamWOptions{}), make<optim::Adamax>(optim::AdamaxOptions{}),
        make<optim::NAdam>(optim::NAdamOptions{}), make<optim::RAdam>(optim::RAdamOptions{}),
        make<optim::RMSprop>(optim::RMSpropOptions{}),
        make<optim::Adagrad>(optim::AdagradOptions{})}) {
    std::vector<std::vector<float>> results[2];
    for (const bool one_by_one : {false, true}) {
      const std::vector<Tensor> w = many(0), grads = many(100);
      const std::unique_ptr<optim::Optimizer> optimizer = make(w);
      const ApplyModeScope scope(mode_of(one_by_one));
      for (int step = 0; step < 2; ++step) {
        const int64_t launches = launches_of([&] { optimizer->update(grads); });
        if (!one_by_one) expect_launches(launches, 2);  // and the count of steps
      }
      results[one_by_one ? 1 : 0] = values_of(w);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST_F(CudaJoinedCalls, UnscalingClippingAndAccumulationHaveOneLaunchEach) {
  const std::vector<Tensor> w = many(0);
  const auto scaler = optim::LossScaler::dynamic({}, Device::cuda);
  optim::Accumulation window(w, 2);
  const Tensor count = there(ones({}, {DType::f64}));
  const auto run = [&](bool one_by_one) {
    const ApplyModeScope scope(mode_of(one_by_one));
    std::vector<Tensor> sums;
    const auto add = [&](int64_t part, int seed) {
      window.at(part, 2);
      std::vector<Tensor> grads = many(seed);
      return launches_of([&] { sums = window.add(std::move(grads), count); });
    };
    // Of the first part also a one, and the sum of counts.
    int64_t launches = add(0, 100);
    if (!one_by_one) expect_launches(launches, 3);
    launches = add(1, 200);
    if (!one_by_one) expect_launches(launches, 1);
    optim::LossScaler::Unscaled unscaled;
    launches = launches_of([&] { unscaled = scaler.unscale(std::move(sums)); });
    const int64_t looking = launches_of([&] { nonfinite(unscaled.grads); });
    if (!one_by_one) expect_launches(launches - looking, 1);
    optim::Clipped clipped;
    launches = launches_of([&] { clipped = optim::clip_by_global_norm(unscaled.grads, 0.5); });
    const int64_t norm = launches_of([&] { global_norm(unscaled.grads); });
    if (!one_by_one) expect_launches(launches - norm, 1);
    return std::pair(values_of(unscaled.grads), values_of(clipped.grads));
  };
  EXPECT_EQ(run(false), run(true));
}

TEST_F(CudaJoinedCalls, ClippingByValueHasOneLaunch) {
  const std::vector<Tensor> grads = many(100);
  std::vector<Tensor> clipped;
  expect_launches(launches_of([&] { clipped = optim::clip_grad_value(grads, 0.25); }), 1);
  std::vector<std::vector<float>> expected = values_of(grads);
  for (std::vector<float>& values : expected)
    for (float& v : values) v = std::clamp(v, -0.25F, 0.25F);
  EXPECT_EQ(values_of(clipped), expected);
}

TEST_F(CudaJoinedCalls, PrunedWeightsAreMaskedInOneLaunch) {
  std::vector<NamedTensor> weights;
  for (const Tensor& w : many(0)) weights.push_back({"w", w});
  optim::Pruner pruner(weights, {.schedule = {.final = 0.5}});
  ASSERT_TRUE(pruner.prune(0));
  const std::vector<Tensor> moved = many(100);
  for (size_t i = 0; i < moved.size(); ++i)
    weights[i].tensor.write(std::span<const float>(moved[i].to_vector<float>()));
  expect_launches(launches_of([&] { pruner.apply(); }), 1);
  for (size_t i = 0; i < moved.size(); ++i) {
    std::vector<float> expected = moved[i].to_vector<float>();
    const auto keeps = pruner.state()[i].second.to_vector<double>();
    for (size_t k = 0; k < expected.size(); ++k)
      if (keeps[k] == 0) expected[k] = 0;
    EXPECT_EQ(weights[i].tensor.to_vector<float>(), expected);
  }
}

// Types of 8 bytes have one launch, and all others together have one.
TEST_F(CudaJoinedCalls, MasksOfAllTypes) {
  std::vector<Tensor> all;
  for (const DType dtype : {DType::f32, DType::i32, DType::f16, DType::bf16, DType::u8,
                            DType::boolean, DType::i64, DType::f64})
    all.push_back(there(ones({5}, {.dtype = dtype})));
  const Tensor mask = cast(there(Tensor::of<float>({1, 0, 1, 1, 0}, {5})), DType::boolean);
  const int64_t launches = launches_of([&] {
    join_calls([&] {
      for (const Tensor& x : all) apply_mask(x, mask);
    });
  });
  expect_launches(launches, 2);
  for (const Tensor& x : all)
    EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 0, 1, 1, 0})) << name_of(x.dtype());
}

TEST_F(CudaJoinedCalls, WhatDependsOnWaitingCallsComesAfterThem) {
  const Tensor a = there(ones({3})), b = there(ones({3})), one = there(ones({}, {DType::f64}));
  const auto add = [&](const Tensor& total, const Tensor& x) {
    accumulate(total, x, one, one, {});
  };
  const auto is = [](const Tensor& x, float value) {
    return x.to_vector<float>() == std::vector<float>(3, value);
  };
  join_calls([&] {
    add(a, b);
    add(a, b);  // the same total again
    EXPECT_TRUE(is(a, 3));
    add(a, b);
    add(b, a);  // reads what a call that waits writes, and writes what it reads
  });
  EXPECT_TRUE(is(a, 4));
  EXPECT_TRUE(is(b, 5));
  join_calls([&] {
    add(a, b);
    const Tensor doubled = mul(a, full({}, 2, {DType::f32, Device::cuda}));  // another op
    EXPECT_TRUE(is(doubled, 18));
    add(a, b);
    a.write(std::span<const float>(std::vector<float>{1, 1, 1}));  // from the host
    EXPECT_TRUE(is(a, 1));
    const Tensor scalar = there(ones({}));
    add(scalar, there(ones({})));
    EXPECT_EQ(Late(scalar).value(), 2);
    add(a, b);
    join_calls([&] { add(a, b); });  // one within the other
    add(a, b);
  });
  EXPECT_TRUE(is(a, 16));
}

TEST_F(CudaJoinedCalls, AnErrorLeavesNothingThatWaits) {
  const Tensor a = there(ones({3})), one = there(ones({}, {DType::f64}));
  try {
    join_calls([&] {
      accumulate(a, a + a, one, one, {});
      throw ValueError("stop");
    });
  } catch (const ValueError&) {
  }
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>(3, 1));
  accumulate(a, a + a, one, one, {});  // outside of a scope nothing waits
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>(3, 3));
}

// Gradients that are moved in give way to each other, but for a bounded number of bytes.
TEST_F(CudaJoinedCalls, WaitingKeepsFewBytes) {
  PooledAllocator& pool = *default_pool(Device::cuda);
  constexpr int64_t kBytes = JoinedCalls::kMostKept / 4;
  std::vector<Tensor> grads;
  for (int i = 0; i < 16; ++i) grads.push_back(ones({kBytes / 4}, {DType::f32, Device::cuda}));
  const auto scaler = optim::LossScaler::dynamic({}, Device::cuda);
  pool.reset_peak();
  const int64_t before = pool.stats().peak.bytes;
  const auto unscaled = scaler.unscale(std::move(grads));
  EXPECT_LE(pool.stats().peak.bytes, before + JoinedCalls::kMostKept + 3 * kBytes);
  EXPECT_EQ(unscaled.grads[3].to_vector<float>()[0], 0x1p-16F);
}

// One launch for each saves nothing, and to wait would keep what it reads.
TEST_F(CudaJoinedCalls, LargeOnesDoNotWait) {
  PooledAllocator& pool = *default_pool(Device::cuda);
  constexpr int64_t kBytes = 2 * JoinedCalls::kMostKept;
  std::vector<Tensor> grads;
  for (int i = 0; i < 3; ++i) grads.push_back(ones({kBytes / 4}, {DType::f32, Device::cuda}));
  const auto scaler = optim::LossScaler::dynamic({}, Device::cuda);
  pool.reset_peak();
  const int64_t before = pool.stats().peak.bytes;
  const auto unscaled = scaler.unscale(std::move(grads));
  EXPECT_LE(pool.stats().peak.bytes, before + kBytes + (int64_t{1} << 20));
}

}  // namespace
}  // namespace plimsoll
