// The examples' models in pools that are too small: exactly as large as the plan said, one granule
// smaller, and full at each allocation of a step in turn.
#include <gtest/gtest.h>

#include "autograd/gradients.h"
#include "examples/common/cnn_models.h"
#include "examples/common/runner.h"
#include "examples/common/transformer_models.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "tests/full_pool.h"

namespace plimsoll::examples {
namespace {

// A model in training, with all that it holds in the current pool. Two of them are twins.
struct Training {
  Training(const std::string& name, bool captured) : captured(captured) {
    nn::Build build{.seed = 1};
    if (name == "lenet") {
      model = make_cnn(name, {28, 28, 1, 10}, false, build);
      const MemoryScope scope(MemoryClass::input);
      inputs = {uniform({4, 28, 28, 1}, 0, 1, 2), Tensor::of<int64_t>({3, 1, 4, 1}, {4}),
                make_key(3, 0)};
    } else {
      const GptSize size{.vocabulary = 7, .context = 8, .layers = 1, .heads = 2, .width = 16};
      model = make_gpt(size, false, build);
      const MemoryScope scope(MemoryClass::input);
      const std::vector<int64_t> tokens{3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 0, 1, 2, 3, 4, 6};
      inputs = {Tensor::of<int64_t>(tokens, {2, 8}), Tensor::of<int64_t>(tokens, {2, 8}),
                make_key(3, 0)};
    }
    optimizer.emplace(model->parameters());
    start();
  }

  void start() {
    runner.emplace(
        [this](std::span<const Tensor> in) {
          const Tensor loss = cross_entropy((*model)(in[0], nn::training(in[2])), in[1]);
          optimizer->update(gradients(loss, model->parameters()));
          return std::vector{loss};
        },
        captured);
  }

  double step() { return runner->run(inputs)[0].item(); }

  // Every bit that the next step depends on.
  std::vector<std::vector<float>> state() const {
    std::vector<std::vector<float>> values;
    for (const Tensor& p : model->parameters()) values.push_back(p.to_vector<float>());
    for (const auto& [name, tensor] : optimizer->state())
      values.push_back(tensor.to_vector<float>());
    return values;
  }

  bool captured;
  std::unique_ptr<Staged> model;
  std::vector<Tensor> inputs;
  std::optional<optim::Adam> optimizer;
  std::optional<Runner> runner;
};

class ExamplesMemory : public testing::TestWithParam<std::string> {};

TEST_P(ExamplesMemory, AStepRunsInAPoolOfThePlannedBytesAndNotInLess) {
  int64_t planned = 0;
  {
    const AllocatorScope scope(std::make_shared<PooledAllocator>(host_provider()));
    Training training(GetParam(), true);
    planned = training.runner->planned_bytes(
        {training.inputs[0], training.inputs[1], training.inputs[2]});
  }
  const auto pool = std::make_shared<PooledAllocator>(host_provider(), planned);
  const AllocatorScope scope(pool);
  Training training(GetParam(), true);
  for (int i = 0; i < 3; ++i) EXPECT_GT(training.step(), 0);
  EXPECT_EQ(pool->stats().peak.bytes, planned);
  EXPECT_LE(pool->stats().reserved, planned);

  training.runner->release_arena();
  pool->set_limit(planned - kGranule);
  const int64_t in_use = pool->stats().in_use;
  EXPECT_THROW(training.step(), OutOfMemory);
  training.runner->release_arena();
  EXPECT_EQ(pool->stats().in_use, in_use);
}

TEST_P(ExamplesMemory, EveryAllocationOfAStepCanFail) {
  for (const bool captured : {false, true}) {
    const auto twins = std::make_shared<PooledAllocator>(host_provider());
    std::optional<Training> undisturbed;
    {
      const AllocatorScope scope(twins);
      undisturbed.emplace(GetParam(), captured);
    }
    const auto pool = std::make_shared<FullPool>(host_provider());
    const AllocatorScope scope(pool);
    Training training(GetParam(), captured);
    const int64_t baseline = pool->stats().in_use, storages = Storage::live();
    int failures = 0;
    for (bool failed = true; failed; ++failures) {
      training.start();
      pool->full_at = failures + 1;
      failed = false;
      try {
        training.step();
      } catch (const OutOfMemory& error) {
        failed = true;
        EXPECT_TRUE(std::string(error.what()).ends_with(": full"));
      }
      pool->full_at = 0;
      training.start();
      EXPECT_EQ(pool->stats().in_use, baseline);
      EXPECT_EQ(Storage::live(), storages);
      double loss = 0;
      {
        const AllocatorScope twin(twins);
        loss = undisturbed->step();
        if (captured) undisturbed->start();
      }
      if (failed) {
        EXPECT_EQ(training.step(), loss) << "after failure " << failures;
        training.start();
      }
      ASSERT_EQ(training.state(), undisturbed->state()) << "after failure " << failures;
    }
    EXPECT_GT(failures, captured ? 2 : 20);
    std::printf("%s, %s: %d allocations failed\n", GetParam().c_str(),
                captured ? "captured" : "eager", failures - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(, ExamplesMemory, testing::Values("lenet", "gpt"));

}  // namespace
}  // namespace plimsoll::examples
