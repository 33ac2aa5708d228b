// Training on a GPU with whole steps as graphs: the bits of the same step run kernel by kernel and
// op by op, and a host that never waits. Skipped by name where there is no GPU; simulated_steps
// runs it everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <thread>

#include "core/cuda/seam/cuda_queue.h"
#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "memory/pool/pooled_allocator.h"
#include "optim/scheduled_rate.h"
#include "tests/support/errors.h"
#include "tests/support/training.h"
#include "train/runner.h"

namespace plimsoll::examples {
namespace {

using train::Loss;
using train::Runner;

class CudaSteps : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  }
};

struct Left {
  std::vector<double> losses;
  std::vector<std::vector<double>> bits, statistics;
  bool operator==(const Left&) const = default;
};

Left after_steps(const How& how, int steps, int64_t* launches = nullptr) {
  Training training(how);
  const int64_t before = cuda_queue().counts().launches;
  Left left;
  for (int i = 0; i < steps; ++i) left.losses.push_back(training.step());
  if (launches) *launches = cuda_queue().counts().launches - before;
  left.bits = training.bits();
  left.statistics = training.running_statistics();
  return left;
}

// Each phase of an update is run once kernel by kernel. Simulated ones take their time: there are
// few steps, of one batch.
void expect_same_bits(How how, int steps = 4) {
  how.device = Device::cuda;
  how.batches = 1;
  const Left eager = after_steps(how, steps);
  how.captured = true;
  how.graph = false;
  int64_t launches = 0;
  EXPECT_TRUE(after_steps(how, steps, &launches) == eager) << name_of(how);
  EXPECT_EQ(launches, 0);
  how.graph = true;
  EXPECT_TRUE(after_steps(how, steps, &launches) == eager) << name_of(how);
  EXPECT_EQ(launches, steps - how.accumulate) << name_of(how);
}

TEST_F(CudaSteps, GraphsHaveTheBitsOfTheLoop) {
  expect_same_bits({.model = "lenet"}, 3);
  expect_same_bits({.model = "gpt", .max_norm = 0.1});  // with dropout
  expect_same_bits({.model = "gpt", .precision = Precision::f16, .scaled = true});
  expect_same_bits({.model = "gpt", .sgd = true, .accumulate = 3}, 6);
}

TEST_F(CudaSteps, GraphsHaveTheBitsOfTheLoopUnderABudget) {
  How how{.model = "gpt", .captured = true, .batches = 1, .device = Device::cuda};
  how.budget = Training(how).planner().smallest();
  how.captured = false;
  constexpr int kSteps = 4;
  const Left eager = after_steps(how, kSteps);
  how.captured = true;
  const auto pool = std::make_shared<PooledAllocator>(cuda_provider());
  const AllocatorScope scope(pool);
  Training tight(how);
  EXPECT_GT(tight.plan().recompute.repetitions, 0);
  const int64_t before = cuda_queue().counts().launches;
  pool->reset_peak();
  Left left;
  for (int i = 0; i < kSteps; ++i) left.losses.push_back(tight.step());
  EXPECT_EQ(cuda_queue().counts().launches, before + kSteps - 1);
  EXPECT_LE(pool->stats().peak.bytes, how.budget);
  left.bits = tight.bits();
  EXPECT_TRUE(left == eager);
}

Tensor there(std::vector<float> values) {
  return to_device(Tensor::of<float>(values, {static_cast<int64_t>(values.size())}), Device::cuda);
}

// Between reading two results: no wait, whatever is in the step, once it was recorded.
TEST_F(CudaSteps, AStepNeverWaits) {
  for (How how : {How{.model = "gpt", .max_norm = 0.1},
                  How{.model = "gpt", .precision = Precision::f16, .scaled = true}}) {
    how.captured = true;
    how.batches = 1;
    how.device = Device::cuda;
    Training training(how);
    training.run(2);
    const CudaCounts before = cuda_queue().counts();
    training.run(3);
    const CudaCounts after = cuda_queue().counts();
    EXPECT_EQ(after.waits, before.waits) << name_of(how);
    EXPECT_EQ(after.launches, before.launches + 3) << name_of(how);
    training.step();
    EXPECT_GT(cuda_queue().counts().waits, after.waits);  // who reads the loss waits
  }
}

// A whole loop: images by a loader, a key and a learning
// rate for each batch, losses read late.
TEST_F(CudaSteps, ATrainingLoopNeverWaits) {
  const data::ImageDataset images = data::draw_images(data::Split::train, {.count = 240});
  const auto train = [&](bool graph, int64_t* waits) {
    data::Loader loader(
        images,
        {.batch = 8, .shuffle = true, .augment = {.crop = 2, .cutout = 6}, .device = Device::cuda});
    const Tensor w = to_device(uniform({784, 10}, -0.05, 0.05, 2), Device::cuda).require_grad();
    optim::SGD sgd({w}, {.momentum = 0.9});
    Runner step(
        [&](std::span<const Tensor> in) {
          const Tensor x = dropout(reshape(in[0], {8, 784}), 0.1, in[2], 0);
          const Tensor loss = cross_entropy(matmul(x, w), in[1]);
          sgd.update(gradients(loss, std::array{w}));
          return std::vector{loss};
        },
        /*captured=*/true, {.graph = graph});
    std::vector<double> losses;
    std::deque<Loss> late;
    loader.start(0);
    int64_t before = 0;
    for (int64_t number = 0; const auto batch = loader.next(); ++number) {
      if (number == 6) before = cuda_queue().counts().waits;
      sgd.set_learning_rate(0.01 / static_cast<double>(number + 1));
      const Tensor key = make_key(1, static_cast<uint64_t>(number), Device::cuda);
      late.push_back(step.train(number, {batch->x, batch->y, key}).loss);
      if (!graph) {  // nobody is late
        EXPECT_GT(late.back().value(), 0);
      }
      for (; late.size() > 2; late.pop_front()) losses.push_back(late.front().value());
    }
    *waits = cuda_queue().counts().waits - before;
    for (const Loss& loss : late) losses.push_back(loss.value());
    return std::pair(losses, w.to_vector<float>());
  };
  int64_t waits = -1;
  const auto in_loop = train(false, &waits);
  EXPECT_EQ(in_loop.first.size(), 30U);
  EXPECT_EQ(train(true, &waits), in_loop);
  EXPECT_EQ(waits, 0);
}

// Which updates are skipped is known on the device alone, and the schedule goes by those that are
// not: the rates and the bits of a loop that asks for their number before each step, without a
// wait.
TEST_F(CudaSteps, AScheduleBesideLossScalingNeverWaits) {
  constexpr int kSteps = 80;
  const optim::Schedule schedule = optim::warmup_cosine(0.1, 0.001, 10, 50);
  const std::array inputs{there({1, -2, 3}), there({1, HUGE_VALF, 3}), there({2, 1, -1})};
  const auto train = [&](bool asks, bool graph, int64_t* waits) {
    const Tensor w = there({1, 2, 3}).require_grad();
    optim::Adam adam({w});
    const auto scaler = optim::LossScaler::dynamic({.interval = 4}, Device::cuda);
    std::optional<optim::ScheduledRate> rate;
    if (!asks) rate.emplace(schedule, adam.steps());
    Runner step(
        [&](std::span<const Tensor> in) {
          if (rate) rate->set(adam);
          const Tensor loss = sum(w * w);
          const auto [grads, skip] =
              scaler.unscale(gradients(scaler.scale(loss + sum(w * in[0])), std::array{w}));
          adam.update(grads, skip);
          scaler.update(skip);
          return std::vector{loss};
        },
        /*captured=*/true, {.graph = graph});
    std::vector<double> values;
    std::deque<AsyncReadBack> late;
    int64_t before = 0;
    for (int i = 0; i < kSteps; ++i) {
      if (i == 2) before = cuda_queue().counts().waits;  // recorded, and the first count was read
      if (rate)
        rate->next();
      else
        adam.set_learning_rate(schedule(adam.steps_made()));
      const bool overflows = i % 3 == 1 || (i > 30 && i < 50);
      late.emplace_back(step.run(std::array{inputs[overflows ? 1 : i % 2 * 2]})[0]);
      late.emplace_back(adam.learning_rate());
      for (; late.size() > 4; late.pop_front()) values.push_back(late.front().value());
    }
    *waits = cuda_queue().counts().waits - before;
    for (const AsyncReadBack& value : late) values.push_back(value.value());
    EXPECT_LT(adam.steps_made(), kSteps - 30);
    return std::pair(values, w.to_vector<float>());
  };
  int64_t waits = -1;
  const auto asked = train(true, true, &waits);
  EXPECT_GE(waits, kSteps - 2);
  for (const bool graph : {true, false}) {
    EXPECT_EQ(train(false, graph, &waits), asked);
    EXPECT_EQ(waits, 0);
  }
}

TEST_F(CudaSteps, InputsMayLieAnywhere) {
  Step step([](const Tensor& x) { return exp(mul(x, x)); });
  std::vector<Tensor> places;
  for (int i = 0; i < 7; ++i) places.push_back(there({static_cast<float>(i), 0.5f}));
  const auto expect = [&](int i) {
    const Tensor& x = places[static_cast<size_t>(i)];
    EXPECT_EQ(step(x).to_vector<float>(), exp(mul(x, x)).to_vector<float>()) << i;
  };
  const auto launches = [] { return cuda_queue().counts().launches; };
  const int64_t none = launches();
  for (const int i : {0, 1, 2, 3, 4, 5, 6, 0, 1, 2}) expect(i);  // forgotten when it comes again
  EXPECT_EQ(launches(), none);
  for (const int i : {2, 1, 0, 2, 1, 0, 0}) expect(i);
  EXPECT_EQ(launches(), none + 7);
  places[0].write(std::span<const float>(std::vector{3.0f, -3.0f}));  // the same place
  expect(0);
  EXPECT_EQ(launches(), none + 8);
  step.release_arena();
  const auto other = std::make_shared<PooledAllocator>(cuda_provider());
  const AllocatorScope scope(other);
  expect(0);  // another arena: what was recorded is of the one before
  EXPECT_EQ(launches(), none + 8);
  expect(0);
  EXPECT_EQ(launches(), none + 9);
}

TEST_F(CudaSteps, AGraphCanBeSwitchedOff) {
  Step step([](const Tensor& x) { return exp(x); }, {.graph = false});
  const Tensor x = there({1, 2});
  const int64_t before = cuda_queue().counts().launches;
  for (int i = 0; i < 3; ++i) step(x);
  EXPECT_EQ(cuda_queue().counts().launches, before);
}

// An op whose kernel waits, as none of ours does.
void waits(const Call& call) {
  cuda_api().copy_strided(call.in[0], call.out[0]);
  cuda_api().synchronize();
}
const OpDef waiting_op{.name = "waiting",
                       .infer = [](std::span<const Meta> in, const Attrs&) { return Metas{in[0]}; },
                       .cuda = waits};

TEST_F(CudaSteps, WhatCannotBeRecordedRunsInTheLoop) {
  Step step([](const Tensor& x) { return exp(apply(waiting_op, {x})[0]); });
  const Tensor x = there({1, 2});
  const std::vector<float> expected = exp(x).to_vector<float>();
  const int64_t before = cuda_queue().counts().launches;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(x).to_vector<float>(), expected);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("step: it runs kernel by kernel, not as one graph: cuda: "), 0u) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_EQ(cuda_queue().counts().launches, before);
}

// While one thread records, another one's work runs and may wait.
TEST_F(CudaSteps, OtherThreadsAreNotRecorded) {
  const Tensor x = there({1, 2});
  std::vector<float> elsewhere;
  const CudaGraph graph = cuda_queue().record(
      [&] { std::thread([&] { elsewhere = exp(x).to_vector<float>(); }).join(); });
  EXPECT_EQ(elsewhere, exp(x).to_vector<float>());
  cuda_queue().launch(graph);
  cuda_api().synchronize();
}

// A fault in a replayed kernel is found like any other.
TEST_F(CudaSteps, FaultsInsideAGraphAreThrown) {
  const Tensor table = there({1, 2, 3});
  Step step([&](const Tensor& ids) { return embedding(reshape(table, {3, 1}), ids); });
  const Tensor ids = to_device(Tensor::of<int64_t>({0, 2}, {2}), Device::cuda);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(ids).to_vector<float>(), (std::vector<float>{1, 3}));
  ids.write(std::span<const int64_t>(std::vector<int64_t>{0, 7}));
  expect_error<IndexError>(
      [&] { step(ids).to_vector<float>(); },
      "embedding: an id is out of range: 7 at position 1 for a size of 3. Use ids "
      "from 0 and below 3.");
  ids.write(std::span<const int64_t>(std::vector<int64_t>{1, 1}));
  EXPECT_EQ(step(ids).to_vector<float>(), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace plimsoll::examples
