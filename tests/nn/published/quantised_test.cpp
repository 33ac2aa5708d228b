// A frozen base in 8 and 4 bits: beside bitsandbytes, planned, trained over, merged.
#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "data/text/builtin_text.h"
#include "data/text/text.h"
#include "formats/safetensors.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"
#include "nn/published/export.h"
#include "ops/ops.h"
#include "optim/adam.h"
#include "tests/nn/published/small_folder.h"
#include "tests/nn/published/testing.h"
#include "tests/support/errors.h"
#include "tests/support/op_case.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;

constexpr Quantisation kKinds[] = {Quantisation::int8, Quantisation::nf4};

nn::DecoderOptions adapted(std::optional<Quantisation> quantised = {}) {
  return {.quantised = quantised,
          .lora = nn::LoraOptions{.rank = 8, .alpha = 16, .targets = {"all-linear"}}};
}

TEST(PublishedQuantised, LogitsAreThoseOfBitsandbytes) {
  NEEDS_PYTHON("torch, transformers, bitsandbytes, accelerate, safetensors");
  const data::TemporaryFolder dir;
  const python::Outcome outcome =
      python::run("nn/published/references/quantised.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* name : {"llama", "qwen2", "gpt2"})
    for (const Quantisation kind : kKinds) {
      const fs::path folder = dir / cat(name, "-", name_of(kind));
      SCOPED_TRACE(folder.filename());
      const formats::Safetensors theirs(folder / "theirs.safetensors");
      const Tensor ids = theirs.tensor("ids"), logits = theirs.tensor("logits");
      nn::Initializer init{.seed = 1};
      const auto model = load(folder / "base", init, {.quantised = kind});
      const auto whole = load(folder / "base", init);
      const NoGrad scope;
      for (const NamedTensor& own : merged_weights(*model)) {
        if (!theirs.has(own.name)) continue;
        EXPECT_LT(relative_difference(own.tensor, theirs.tensor(own.name)), 1e-7) << own.name;
      }
      EXPECT_LT(relative_difference((*model)(ids), logits), 1e-5);
      EXPECT_GT(relative_difference((*whole)(ids), logits), 1e-3);
      EXPECT_LT(model->bytes(), whole->bytes());
    }
}

// What is whole of the base is as long there as it is being quantised; the plan knows its bytes.
TEST(PublishedQuantised, TakesWhatItsPartsTakeAndOneWeightWhileItIsRead) {
  const data::TemporaryFolder dir;
  const std::string wide = config_with("\"hidden_size\": 16, \"intermediate_size\": 24",
                                       "\"hidden_size\": 256, \"intermediate_size\": 512");
  const fs::path folder = small_folder(dir, "wide", wide);
  for (const Quantisation kind : kKinds) {
    const auto pool = std::make_shared<PooledAllocator>(host_provider());
    const AllocatorScope scope(pool);
    nn::Initializer init{.seed = 1}, shapes{.placement = {.device = Device::null}};
    const auto model = load(folder, init, {.quantised = kind});
    EXPECT_EQ(plan(read_config(folder), shapes, {.quantised = kind})->bytes(), model->bytes());
    int64_t mapped = 0;
    for (const NamedTensor& own : model->named_frozen())
      if (own.name.ends_with("weight")) mapped += block_bytes(bytes_of(own.tensor.meta()));
    EXPECT_EQ(pool->stats().in_use + mapped, model->bytes());
    // Scales of one weight and their copy without the mean.
    const int64_t largest = 512 * 256 / 64 * 4;
    EXPECT_LE(pool->stats().peak.bytes, pool->stats().in_use + 3 * block_bytes(largest));
  }
}

struct Trained {
  std::vector<float> losses;
  std::vector<float> adapters;
};

class Tuned {
 public:
  explicit Tuned(std::unique_ptr<nn::Decoder> model) : model_(std::move(model)) {}

  Trained train(int steps, const StepOptions& options, bool captured = true) {
    optim::AdamW optimizer(model_->parameters(), {.learning_rate = 1e-2});
    const StepFunction run = function(optimizer);
    Step step(run, options);
    Trained result;
    for (int i = 0; i < steps; ++i) {
      const Tensor x = cast(uniform({2, 12}, 0, 300, 2 * i), DType::i64),
                   y = cast(uniform({2, 12}, 0, 300, 2 * i + 1), DType::i64);
      result.losses.push_back(captured ? step(x, y).item<float>()
                                       : run(std::array{x, y})[0].item<float>());
    }
    for (const Tensor& p : model_->parameters())
      for (const float value : p.to_vector<float>()) result.adapters.push_back(value);
    return result;
  }
  StepFunction function(optim::AdamW& optimizer) {
    return step_function([&](const Tensor& x, const Tensor& y) {
      const Tensor loss = model_->loss((*model_)(x, nn::training()), y);
      optimizer.update(gradients(loss, model_->parameters()));
      return loss;
    });
  }
  const nn::Decoder& model() const { return *model_; }

 private:
  std::unique_ptr<nn::Decoder> model_;
};

TEST(PublishedQuantised, StepsHaveTheSameBitsHoweverTheyAreRun) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  for (const Quantisation kind : kKinds) {
    const auto tuned = [&](bool checkpoint) {
      nn::Initializer init{.seed = 1};
      nn::DecoderOptions options = adapted(kind);
      options.checkpoint = checkpoint;
      options.logits = false;
      return Tuned(load(folder, init, options));
    };
    const Trained plain = tuned(false).train(4, {}, false);
    Tuned planned = tuned(false);
    optim::AdamW optimizer(planned.model().parameters());
    const Metas batch(2, {{2, 12}, DType::i64});
    const int64_t most = Step(planned.function(optimizer)).plan(batch).total_bytes();
    for (const bool checkpoint : {false, true})
      for (const int64_t budget : {StepOptions::kNoBudget, most * 93 / 100}) {
        const Trained other =
            tuned(checkpoint).train(4, {.budget = budget, .planning = {.costs = CostModel::model}});
        EXPECT_EQ(other.losses, plain.losses);
        EXPECT_EQ(other.adapters, plain.adapters);
      }
  }
}

TEST(PublishedQuantised, MergedWeightsAreTheModelThatWasTrained) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  const Tensor ids = Tensor::of<int64_t>({1, 5, 299, 7, 3, 8}, {2, 3});
  for (const Quantisation kind : kKinds) {
    nn::Initializer init{.seed = 1};
    Tuned tuned(load(folder, init, adapted(kind)));
    for (const bool trained : {false, true}) {
      const fs::path merged = dir / cat(name_of(kind), trained);
      if (trained) {
        nn::Initializer again{.seed = 1};
        for (const Tensor& p : tuned.model().parameters())
          nn::assign(p, nn::init::normal(p.shape(), 0.1, again));
      }
      write_model(merged, tuned.model(), folder);
      const NoGrad scope;
      const Tensor ours = tuned.model()(ids);
      EXPECT_LT(relative_difference((*load(merged, init))(ids), ours), 1e-5);
      EXPECT_GT(relative_difference((*load(folder, init))(ids), ours), 1e-4);
    }
  }
}

// A base that has learnt what these documents look like, and adapters for the sources.
TEST(PublishedQuantised, TrainsToTheLossOfAdaptersOverWholeWeights) {
  const data::TextDataset text =
      data::split_text("text", data::read_sources(data::source_folder()).substr(0, 1 << 20));
  constexpr data::WindowAttrs kWindows{.batch = 8, .context = 32};
  nn::DecoderConfig config =
      parse_config(config_with("\"hidden_size\": 16, \"intermediate_size\": 24",
                               "\"hidden_size\": 64, \"intermediate_size\": 128"),
                   "f")
          .decoder;
  const auto train = [&](const nn::Decoder& model, const data::Tokens& tokens, int steps,
                         double rate = 5e-3) {
    optim::AdamW optimizer(model.parameters(), {.learning_rate = rate});
    Step step([&](const Tensor& x, const Tensor& y) {
      const Tensor loss = cross_entropy(model(x, nn::training()), y);
      optimizer.update(gradients(loss, model.parameters()));
      return loss;
    });
    double last = 0;  // the mean of the second half
    for (int i = 0; i < steps; ++i) {
      const data::Batch batch = data::random_windows(tokens, kWindows, 1, i);
      const double loss = step(batch.x, batch.y).item();
      if (2 * i >= steps) last += loss / (steps / 2);
    }
    return last;
  };
  const data::Tokens all(text.train);
  nn::Initializer init{.seed = 1};
  const nn::Decoder base(config, nn::drawn_weights(init), init, {.trained = true});
  const double begun = train(base, all.part(0, all.size() / 4), 1500);
  EXPECT_LT(begun, 2.6);
  std::map<std::string, Tensor> weights;
  for (const NamedTensor& own : base.named_parameters()) weights[own.name] = own.tensor.detach();
  const nn::WeightSource source = [&](const std::string& name, const Shape&) {
    return weights.at(name);
  };
  const auto tuned = [&](std::optional<Quantisation> kind, double rate = 5e-3) {
    nn::Initializer same{.seed = 2};
    return train(nn::Decoder(config, source, same, adapted(kind)),
                 all.part(all.size() / 2, all.size()), 400, rate);
  };
  const double whole = tuned({}), untuned = tuned({}, 0);
  EXPECT_LT(whole, untuned - 0.02);
  for (const Quantisation kind : kKinds) {
    const double loss = tuned(kind);
    EXPECT_NEAR(loss, whole, 0.02) << name_of(kind);
    EXPECT_NE(loss, whole);
  }
}

TEST(PublishedQuantised, RefusesWhatHasNoFewerBits) {
  const data::TemporaryFolder dir;
  const fs::path folder = small_folder(dir);
  nn::Initializer init{.seed = 1};
  EXPECT_EQ(error_of<ValueError>(
                [&] { load(folder, init, {.trained = true, .quantised = Quantisation::nf4}); }),
            "decoder: weights in fewer bits are not trained. Give them adapters.");
  std::vector<NamedTensor> weights = small_weights();
  for (NamedTensor& own : weights)
    if (own.name == "model.layers.1.mlp.up_proj.weight")
      own.tensor = full(own.tensor.shape(), NAN, {});
  formats::write_safetensors(folder / "model.safetensors", weights);
  EXPECT_EQ(error_of<NumericError>([&] { load(folder, init, {.quantised = Quantisation::int8}); }),
            "decoder: layers.1.mlp.up_proj.weight: quantise: the weight holds NaN or infinity: "
            "soon after element 0. Look for it before it is quantised.");
}

}  // namespace
}  // namespace plimsoll::published
