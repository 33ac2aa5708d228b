// Writing text with a cache: the tokens that come without one, in the bytes that were planned.
#include <cmath>

#include "autograd/no_grad.h"
#include "examples/models/transformer_models.h"
#include "formats/safetensors.h"
#include "memory/pool/pooled_allocator.h"
#include "nn/generate/generator.h"
#include "nn/generate/sampling.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/nn/testing.h"
#include "tests/support/python.h"

namespace plimsoll::examples {
namespace {

using nn::Generator;
using nn::Initializer;
using Ids = std::vector<int64_t>;

constexpr GptSize kSmall{.vocabulary = 97,
                         .context = 256,
                         .layers = 3,
                         .heads = 4,
                         .width = 64,
                         .bias = true,
                         .activation = nn::Activation::gelu_tanh};
constexpr int64_t kTokens = 200;
const Ids kPrompt{5, 17, 3, 88, 41, 2, 9};

// Weights large enough for scores that differ: those that training begins with are nearly uniform.
std::unique_ptr<Staged> lively_gpt(const GptSize& size, const Placement& placement = {}) {
  Initializer init{.seed = 1, .placement = placement};
  auto model = make_gpt(size, false, init);
  uint64_t seed = 5;
  for (const auto& [name, tensor] : model->named_parameters())
    if (placement.device == Device::cpu && tensor.rank() == 2)
      nn::assign(tensor, normal(tensor.shape(), 0, 0.2, seed++, placement));
  return model;
}

std::vector<float> scores_without_cache(const nn::Module& model, const Ids& ids) {
  const NoGrad scope;
  const int64_t n = std::ssize(ids);
  const Tensor logits = model(Tensor::of(std::span<const int64_t>(ids), {1, n}));
  return cast(contiguous(slice(logits, 1, n - 1, n)), DType::f32).to_vector<float>();
}

// `next(ids, fresh)` gives the scores of what follows ids, of which the last `fresh` are new.
template <class Next>
Ids write(Ids ids, const nn::SamplingOptions& options, const Next& next) {
  auto fresh = std::ssize(ids);
  for (int64_t i = 0; i < kTokens; ++i, fresh = 1)
    ids.push_back(nn::sample(next(ids, fresh), options, 7, ids.size()));
  return ids;
}

Ids write_with_cache(Generator& generator, const Ids& prompt, const nn::SamplingOptions& options) {
  return write(prompt, options, [&](const Ids& ids, int64_t fresh) {
    return generator.read(std::span(ids).last(static_cast<size_t>(fresh)));
  });
}

TEST(Generate, TokensAreThoseWithoutACacheAndScoresHaveTheirBits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto model = lively_gpt(kSmall, {.dtype = dtype});
    Generator generator(*model, {.context = 256, .reads = {std::ssize(kPrompt)}});
    const nn::SamplingOptions greedy{.greedy = true}, drawn{.temperature = 0.8, .top_k = 20};
    for (const auto& options : {greedy, drawn}) {
      std::vector<std::vector<float>> with, without;
      generator.restart();
      const Ids ids = write(kPrompt, options, [&](const Ids& all, int64_t fresh) {
        with.push_back(generator.read(std::span(all).last(static_cast<size_t>(fresh))));
        return with.back();
      });
      const Ids expected = write(kPrompt, options, [&](const Ids& all, int64_t) {
        without.push_back(scores_without_cache(*model, all));
        return without.back();
      });
      EXPECT_EQ(ids, expected) << cat(dtype);
      EXPECT_TRUE(with == without) << cat(dtype) << ": other bits";
      EXPECT_GT(std::set(ids.begin(), ids.end()).size(), 8U) << "one token again and again";
    }
  }
}

TEST(Generate, ABudgetDecidesHowAPromptIsReadAndNotWhatIsWritten) {
  const auto model = lively_gpt(kSmall);
  Ids prompt;
  for (int64_t i = 0; i < 50; ++i) prompt.push_back(i * i % 97);
  const nn::SamplingOptions options{.top_p = 0.9};
  nn::GeneratorOptions reads{.context = 250, .reads = {50}};
  Generator free(*model, reads);
  EXPECT_EQ(free.plan().together, 50);
  const Ids expected = write_with_cache(free, prompt, options);
  int64_t together = 50;
  for (reads.budget = free.plan().total() - 1; together > 1; --reads.budget) {
    Generator bound(*model, reads);
    const nn::GenerationPlan& plan = bound.plan();
    EXPECT_LE(plan.total(), reads.budget);
    EXPECT_LT(plan.together, together);
    EXPECT_EQ(write_with_cache(bound, prompt, options), expected) << plan.together;
    together = plan.together;
    reads.budget = plan.total();
  }
  const int64_t smallest = reads.budget + 1;
  const std::string refused = error_of<BudgetError>([&] { Generator(*model, reads); });
  EXPECT_EQ(refused, cat("generator: the budget is too small: ", reads.budget,
                         " bytes, and a context of 250 tokens takes ", smallest,
                         ". Allow that many, or use a context of 249."));
  reads.reads = {250};  // a shorter context would have no room for them
  EXPECT_TRUE(
      error_of<BudgetError>([&] { Generator(*model, reads); }).ends_with(". Allow that many."));
  reads.budget = smallest;
  EXPECT_EQ(Generator(*model, reads).plan().total(), smallest);
}

TEST(Generate, AnErrorForgetsWhatWasReadBeforeIt) {
  const auto model = lively_gpt(kSmall);
  const nn::GenerationPlan plan = Generator(*model, {.context = 9}).plan();
  Generator generator(*model, {.context = 9, .budget = plan.weights + plan.cache + plan.writing});
  const std::vector<float> expected = generator.read(Ids{1, 2, 3});
  generator.restart();
  EXPECT_THROW(generator.read(Ids{1, 2, 97}), IndexError);
  EXPECT_EQ(generator.position(), 0);
  EXPECT_EQ(generator.read(Ids{1, 2, 3}), expected);
}

TEST(Generate, HoldsWhatWasPlannedToTheByte) {
  for (const int64_t together : {int64_t{50}, int64_t{1}}) {
    const auto pool = std::make_shared<PooledAllocator>(host_provider());
    const AllocatorScope scope(pool);
    const auto model = lively_gpt(kSmall);
    Initializer nothing{.placement = nn::kNull};
    nn::GeneratorOptions reads{.context = 120, .reads = {50}};
    const nn::GenerationPlan plan = Generator(*make_gpt(kSmall, false, nothing), reads).plan();
    if (together == 1) reads.budget = plan.weights + plan.cache + plan.writing;
    pool->reset_peak();
    Generator generator(*model, reads);
    EXPECT_EQ(generator.plan().together, together);
    EXPECT_EQ(generator.plan().writing, plan.writing);  // known without bytes
    EXPECT_EQ(plan.cache, 3 * 2 * 120 * 64 * 4);
    generator.read(Ids(50, 3));
    for (int64_t i = 0; i < 70; ++i) generator.read(Ids{i});
    EXPECT_EQ(pool->stats().peak.bytes, generator.plan().total());
    EXPECT_EQ(pool->stats().in_use - generator.plan().weights,
              generator.plan().cache + block_bytes(generator.plan().writing) - 2 * kGranule -
                  block_bytes(97 * 4));  // the arena
  }
}

TEST(Generate, RefusesInOneSentence) {
  const auto model = lively_gpt(kSmall);
  Generator generator(*model, {.context = 4});
  expect_error<ValueError>([&] { generator.read({}); },
                           "generator: there is nothing to read. Give a token or more.");
  generator.read(Ids{1, 2, 3});
  expect_error<ValueError>(
      [&] {
        generator.read(Ids{1, 2});
      },
      "generator: the context is full: 3 of 4 tokens were read, and 2 more "
      "are given. Restart, or use a larger one.");
  expect_error<IndexError>([&] { generator.read(Ids{97}); },
                           "embedding: an id is out of range: 97 at position 0 for a size of 97. "
                           "Use ids from 0 and below 97.");
  expect_error<ValueError>(
      [&] { Generator(*model, {.context = 4, .reads = {5}}); },
      "generator: so many tokens cannot be read: 5 in a context of 4. Use 1 to 4.");
}

// GPT-2 of transformers with the same weights: greedy tokens, and what its filters leave of scores.
TEST(Generate, WritesWhatTransformersWrites) {
  NEEDS_PYTHON("torch, transformers, safetensors");
  const data::TemporaryFolder dir;
  const python::Outcome outcome =
      python::run("examples/references/generate_torch.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  Initializer init{.seed = 2};
  const auto model = make_gpt(kSmall, false, init);
  nn::load_torch_state(*model, formats::read_safetensors(dir / "weights.safetensors"),
                       gpt2_torch_layout());
  const formats::Safetensors theirs(dir / "theirs.safetensors");
  Generator generator(*model, {.context = 256, .reads = {std::ssize(kPrompt)}});
  EXPECT_EQ(write_with_cache(generator, kPrompt, {.greedy = true}),
            theirs.tensor("greedy").to_vector<int64_t>());

  const std::vector<float> scores = theirs.tensor("scores").to_vector<float>();
  int compared = 0;
  for (const double temperature : {0.5, 1.0, 1.7})
    for (const int64_t k : {0, 1, 7, 50})
      for (const double p : {0.3, 0.9, 1.0}) {
        const auto kept = theirs.tensor(cat("kept", compared)).to_vector<int64_t>();
        Ids ours;
        for (const nn::Choice& choice :
             nn::choices(scores, {.temperature = temperature, .top_k = k, .top_p = p}))
          ours.push_back(choice.token);
        EXPECT_EQ(ours, kept) << temperature << " " << k << " " << p;
        ++compared;
      }
  EXPECT_EQ(compared, 36);
}

}  // namespace
}  // namespace plimsoll::examples
