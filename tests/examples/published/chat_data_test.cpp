// Conversations in rows: all of them once, none sees another, and the order is that of the seed.
#include "examples/common/chat_data.h"

#include <fstream>
#include <set>

#include "autograd/no_grad.h"
#include "data/text/bpe_files.h"
#include "data/text/chat_templates.h"
#include "nn/decoder/packed.h"
#include "ops/ops.h"
#include "tests/data/byte_tokenizer.h"
#include "tests/data/testing.h"
#include "tests/nn/published/small_folder.h"
#include "tests/support/errors.h"

namespace plimsoll::examples {
namespace {

std::vector<data::Conversation> conversations(int n) {
  std::vector<data::Conversation> all;
  for (int i = 0; i < n; ++i)
    all.push_back({{{"user", std::string(static_cast<size_t>(1 + i * 7 % 23), 'a')},
                    {"assistant", cat("answer ", i)}},
                   i + 1});
  return all;
}

struct Fixture {
  data::TemporaryFolder dir;
  data::BytePairEncoding bpe = [this] {
    std::ofstream(dir / "tokenizer.json") << data::byte_tokenizer({"<|im_start|>", "<|im_end|>"});
    return data::load_tokenizer((dir / "tokenizer.json").string());
  }();

  ChatData chat(int n, int64_t context) const {
    return {conversations(n),
            data::template_named("chatml"),
            bpe,
            {.context = context, .most = 2048, .file = "chat.jsonl"}};
  }
};

TEST(ChatData, EveryConversationLiesInOneRowAndCountsAsAlone) {
  const Fixture f;
  const ChatData chat = f.chat(40, 200);
  const train::Batches batches = chat.training(2, 1);
  EXPECT_LT(2 * batches.count, 18);  // of 36 that are not held out
  nn::Initializer init{.seed = 1};
  const std::string config =
      published::config_with("\"max_position_embeddings\": 64", "\"max_position_embeddings\": 200");
  const nn::Packed packed(std::make_unique<nn::Decoder>(
      published::parse_config(config, "f").decoder, nn::drawn_weights(init), init));
  const NoGrad scope;
  std::multiset<std::string> seen;
  for (int64_t number = 0; number < batches.count; ++number) {
    const data::Batch batch = batches.at(number);
    ASSERT_EQ(batch.x.shape(), (Shape{2, 3, 200}));
    const std::vector<int64_t> x = batch.x.to_vector<int64_t>(), y = batch.y.to_vector<int64_t>();
    double sum = 0, counted = 0;
    for (size_t row = 0; row < 2; ++row) {
      const int64_t *tokens = &x[row * 600], *segments = tokens + 200, *positions = tokens + 400;
      for (size_t at = 0, end = 0; at < 200; at = end) {
        while (end < 200 && segments[end] == segments[at]) ++end;
        const std::vector<int64_t> ids(tokens + at, tokens + end),
            labels(&y[row * 200] + at, &y[row * 200] + end);
        for (size_t t = at; t < end; ++t) EXPECT_EQ(positions[t], static_cast<int64_t>(t - at));
        const auto n = static_cast<double>(
            std::ranges::count_if(labels, [](int64_t label) { return label >= 0; }));
        if (n == 0) continue;  // padding
        const Shape shape{1, std::ssize(ids)};
        const Tensor alone = packed.decoder()(Tensor::of<int64_t>(ids, shape));
        sum += n * cross_entropy(alone, Tensor::of<int64_t>(labels, shape)).item();
        counted += n;
        seen.insert(f.bpe.decode_inside(std::vector<int32_t>(ids.begin(), ids.end())));
      }
    }
    EXPECT_NEAR(packed.decoder().loss(packed(batch.x), batch.y).item(), sum / counted, 1e-5);
  }
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_GT(seen.size(), 28U);  // fewer rows than a batch has may be left out
}

TEST(ChatData, OrderIsOfSeedAndNumber) {
  const Fixture f;
  const ChatData chat = f.chat(40, 100);
  const train::Batches batches = chat.training(2, 1), again = f.chat(40, 100).training(2, 1),
                       other = chat.training(2, 2);
  const auto x = [](const train::Batches& b, int64_t i) { return b.at(i).x.to_vector<int64_t>(); };
  int others = 0;
  for (int64_t i = 0; i < 3 * batches.count; ++i) {
    EXPECT_EQ(x(batches, i), x(again, i));
    others += x(batches, i) != x(other, i);
  }
  EXPECT_GT(others, batches.count);
  EXPECT_NE(x(batches, 0), x(batches, batches.count));
}

TEST(ChatData, FewerRowsThanABatchAreRefused) {
  const Fixture f;
  EXPECT_EQ(error_of<DataError>([&] { f.chat(4, 2048).training(2, 1); }),
            "chat: there are fewer rows to train on than a batch has: 1 of 2048 tokens with 3 "
            "conversations of chat.jsonl for 2. Use a smaller --batch, or a smaller --context.");
  EXPECT_EQ(error_of<ShapeError>([] {
              nn::Initializer init{.seed = 1};
              const nn::Packed packed(std::make_unique<nn::Decoder>(
                  published::parse_config(published::kSmallConfig, "f").decoder,
                  nn::drawn_weights(init), init));
              packed(zeros({2, 5}, {DType::i64}));
            }),
            "packed: the rows are not [B, 3, T]: [2, 5]. Give each its tokens, segments and "
            "positions.");
}

}  // namespace
}  // namespace plimsoll::examples
