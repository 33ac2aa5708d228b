// LoRA beside PEFT: losses of 20 steps, adapters in both directions, merged weights, and what is
// refused.
#include <fstream>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "formats/safetensors.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/published/adapter.h"
#include "nn/published/export.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "tests/nn/published/testing.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 20;

struct Case {
  fs::path folder;
  formats::Safetensors theirs;
  nn::LoraOptions lora;

  explicit Case(const fs::path& path)
      : folder(path),
        theirs(path / "theirs.safetensors"),
        lora(read_adapter_options(path / "begin")) {}
  std::unique_ptr<nn::Decoder> model(const char* adapter, nn::DecoderOptions options = {}) const {
    nn::Initializer init{.seed = 1};
    options.lora = lora;
    auto model = load(folder / "base", init, options);
    read_adapter(folder / adapter, *model);
    return model;
  }
  // Number i of tensors that lie one behind the other.
  Tensor part(const char* name, int64_t i) const {
    const Tensor all = theirs.tensor(name);
    return contiguous(reshape(slice(all, 0, i, i + 1), {all.size(1), all.size(2)}));
  }
};

double difference_of_losses(const Case& c, const nn::Decoder& model, bool captured) {
  optim::AdamW optimizer(model.parameters(), {.learning_rate = 3e-3, .weight_decay = 0.1});
  const StepFunction train = step_function([&](const Tensor& x, const Tensor& y) {
    const Tensor loss = cross_entropy(model(x, nn::training()), y);
    optimizer.update(gradients(loss, model.parameters()));
    return loss;
  });
  Step step(train);
  const std::vector<double> theirs = c.theirs.tensor("losses").to_vector<double>();
  double most = 0;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = c.part("ids", i), y = c.part("labels", i);
    const double loss = captured ? step(x, y).item() : train(std::array{x, y})[0].item();
    most = std::max(most, std::abs(loss - theirs[static_cast<size_t>(i)]));
  }
  return most;
}

Tensor logits_of(const nn::Decoder& model, const Tensor& ids) {
  const NoGrad scope;
  return model(ids);
}

class PublishedAdapter : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new data::TemporaryFolder;
    if (python::has("torch, transformers, peft, safetensors")) run("make");
  }
  static void TearDownTestSuite() { delete dir_; }
  void SetUp() override { NEEDS_PYTHON("torch, transformers, peft, safetensors"); }
  // For all cases at once: importing peft takes seconds.
  static void run(const char* command) {
    const python::Outcome outcome =
        python::run("nn/published/references/adapters.py", {command, dir_->path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  static std::vector<Case> cases() {
    std::vector<Case> all;
    for (const auto& entry : fs::directory_iterator(dir_->path()))
      if (fs::exists(entry.path() / "theirs.safetensors")) all.emplace_back(entry.path());
    EXPECT_EQ(all.size(), 6U);
    return all;
  }

  static inline data::TemporaryFolder* dir_ = nullptr;
};

TEST_F(PublishedAdapter, LossesAreThoseOfPeft) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.folder.filename());
    for (const bool captured : {false, true}) {
      const auto model = c.model("begin", {.checkpoint = captured});
      EXPECT_LT(difference_of_losses(c, *model, captured), 1e-5);
      const auto theirs = c.model("end");
      const Tensor logits = c.theirs.tensor("logits"), ids = c.part("ids", 0);
      EXPECT_LT(relative_difference(logits_of(*model, ids), logits), 1e-4);   // ours at the end
      EXPECT_LT(relative_difference(logits_of(*theirs, ids), logits), 1e-5);  // theirs, read
    }
  }
}

TEST_F(PublishedAdapter, FrozenWeightsAreNotCopiedAndHaveNoGradients) {
  const Case c(dir_->path() / "llama");
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const auto model = c.model("begin");
  int64_t adapters = 0;
  for (const Tensor& p : model->parameters()) adapters += block_bytes(bytes_of(p.meta()));
  const int64_t angles = 2 * block_bytes(64 * 6 * 4);
  EXPECT_EQ(pool->stats().in_use, adapters + angles);
  EXPECT_EQ(std::ssize(model->named_parameters()), 2 * 2 * 2);
  EXPECT_EQ(std::ssize(model->named_frozen()), 3 + 2 * 9);
  for (const NamedTensor& own : model->named_frozen())
    EXPECT_FALSE(own.tensor.needs_grad()) << own.name;
}

TEST_F(PublishedAdapter, OursAreReadByPeft) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.folder.filename());
    const auto model = c.model("end");
    const fs::path ours = c.folder / "ours";
    write_adapter(ours, *model, c.lora, "base");
    EXPECT_EQ(read_adapter_options(ours).targets, c.lora.targets);
    EXPECT_EQ(error_of<DataError>([&] { write_adapter(ours, *model, c.lora, "base"); }),
              "adapter: this is there already: " + ours.string() + ". Name a new folder.");
  }
  run("ours");
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.folder.filename());
    EXPECT_LT(relative_difference(formats::Safetensors(c.folder / "out").tensor("logits"),
                                  c.theirs.tensor("logits")),
              1e-6);
  }
}

TEST_F(PublishedAdapter, MergedWeightsAreTheSameToRounding) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.folder.filename());
    const auto model = c.model("end");
    const fs::path merged = c.folder / "merged";
    write_model(merged, *model, c.folder / "base");
    nn::Initializer init{.seed = 1};
    const auto alone = load(merged, init);
    EXPECT_LT(relative_difference(logits_of(*alone, c.part("ids", 0)), c.theirs.tensor("logits")),
              1e-5);
  }
  run("merged");
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.folder.filename());
    EXPECT_LT(relative_difference(formats::Safetensors(c.folder / "merged_out").tensor("logits"),
                                  c.theirs.tensor("merged")),
              1e-5);
  }
}

}  // namespace
}  // namespace plimsoll::published
