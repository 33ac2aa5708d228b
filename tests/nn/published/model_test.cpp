// Published models beside transformers': logits, and greedy tokens with a cache.
#include "autograd/no_grad.h"
#include "formats/safetensors.h"
#include "nn/generate/generator.h"
#include "nn/generate/sampling.h"
#include "ops/ops.h"
#include "tests/nn/published/testing.h"

namespace plimsoll::published {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;

constexpr size_t kPrompt = 7;

Ids write_greedily(const nn::Module& model, Ids ids, size_t length) {
  nn::Generator generator(model, {.context = 256, .reads = {std::ssize(ids)}});
  std::vector<float> scores = generator.read(ids);
  while (ids.size() < length) {
    ids.push_back(nn::sample(scores, {.greedy = true}, 1, ids.size()));
    if (ids.size() < length) scores = generator.read(std::span(ids).last(1));
  }
  return ids;
}

TEST(PublishedModel, LogitsAndGreedyTokensAreThoseOfTransformers) {
  NEEDS_PYTHON("torch, transformers, safetensors");
  const data::TemporaryFolder dir;
  const python::Outcome outcome =
      python::run("nn/published/references/models.py", {dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    SCOPED_TRACE(entry.path().filename());
    const formats::Safetensors theirs(entry.path() / "theirs.safetensors");
    fs::create_directories(entry.path() / "theirs");
    fs::rename(entry.path() / "theirs.safetensors", entry.path() / "theirs" / "of.safetensors");
    nn::Initializer init{.seed = 1};
    const auto model = load(entry.path(), init);
    const Tensor ids = theirs.tensor("ids"), logits = theirs.tensor("logits");
    const NoGrad scope;
    EXPECT_LT(relative_difference((*model)(ids), logits), 1e-4);
    const Ids greedy = theirs.tensor("greedy").to_vector<int64_t>();
    EXPECT_EQ(greedy.size(), kPrompt + 200);
    EXPECT_EQ(write_greedily(*model, Ids(greedy.begin(), greedy.begin() + kPrompt), greedy.size()),
              greedy);
    EXPECT_GT(std::set(greedy.begin(), greedy.end()).size(), 8U) << "one token again and again";
    // Trained, the same: copies in f32.
    nn::Initializer other{.seed = 1};
    const auto trained = load(entry.path(), other, {.trained = true, .checkpoint = true});
    EXPECT_TRUE(trained->named_frozen().empty());
    EXPECT_LT(relative_difference((*trained)(ids), logits), 1e-4);
    ++compared;
  }
  EXPECT_EQ(compared, 23);
}

}  // namespace
}  // namespace plimsoll::published
