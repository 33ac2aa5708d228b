// Packing: which documents lie in which row, what a batch holds, and that attention and a whole
// model compute of packed documents what they compute of each alone.
#include "data/text/packing.h"

#include <numeric>

#include "autograd/gradients.h"
#include "core/base/ignored_label.h"
#include "nn/decoder/decoder.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "tests/data/testing.h"
#include "tests/support/op_case.h"

namespace plimsoll::data {
namespace {

using Rows = std::vector<std::vector<size_t>>;

PackedRows pack(const std::vector<std::vector<int32_t>>& documents, int64_t length) {
  std::vector<Document> all;
  for (const auto& ids : documents) all.push_back(next_tokens(ids));
  return {std::move(all), length};
}

Batch all_rows(const PackedRows& rows) {
  std::vector<int64_t> all(static_cast<size_t>(rows.count()));
  std::iota(all.begin(), all.end(), 0);
  return rows.batch(all);
}

// Tokens (0), segments (1) or positions (2) of a batch.
Tensor part(const Batch& batch, int64_t i) {
  return reshape(slice(batch.x, 1, i, i + 1), {batch.x.size(0), batch.x.size(2)});
}

TEST(Packing, RowsAreFilledByTheLongestThatFits) {
  EXPECT_EQ(rows_of({3, 6, 2, 4, 5, 1}, 8), (Rows{{1, 2}, {4, 0}, {3, 5}}));
  EXPECT_EQ(rows_of({}, 8), Rows{});
  EXPECT_EQ(rows_of({8, 8}, 8), (Rows{{0}, {1}}));
}

// Every document is whole, in one row alone, and rows are not longer than they may be.
TEST(Packing, LosesNothing) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 500; ++i) lengths.push_back(1 + i * i % 97);
  int64_t tokens = 0;
  for (const int64_t n : lengths) tokens += n;
  const Rows rows = rows_of(lengths, 128);
  std::vector<int> seen(lengths.size());
  for (const auto& row : rows) {
    int64_t filled = 0;
    for (const size_t document : row) ++seen[document], filled += lengths[document];
    EXPECT_LE(filled, 128);
    EXPECT_GT(filled, 0);
  }
  EXPECT_EQ(seen, std::vector<int>(lengths.size(), 1));
  EXPECT_GT(static_cast<double>(tokens) / (128.0 * static_cast<double>(rows.size())), 0.98);
}

TEST(Packing, ABatchHasTokensSegmentsPositionsAndLabels) {
  const PackedRows rows = pack({{21, 22}, {11, 12, 13}, {31, 32, 33, 34}}, 6);
  ASSERT_EQ(rows.count(), 2);
  const Batch b = all_rows(rows);
  using V = std::vector<int64_t>;
  constexpr int64_t no = kIgnoredLabel;
  EXPECT_EQ(b.x.shape(), (Shape{2, 3, 6}));
  EXPECT_EQ(part(b, 0).to_vector<int64_t>(), (V{31, 32, 33, 34, 21, 22, 11, 12, 13, 0, 0, 0}));
  EXPECT_EQ(part(b, 1).to_vector<int64_t>(), (V{0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(part(b, 2).to_vector<int64_t>(), (V{0, 1, 2, 3, 0, 1, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(b.y.to_vector<int64_t>(), (V{32, 33, 34, no, 22, no, 12, 13, no, no, no, no}));
  const Batch second = rows.batch(std::array<int64_t, 1>{1});
  EXPECT_EQ(part(second, 0).to_vector<int64_t>(), (V{11, 12, 13, 0, 0, 0}));
  expect_error<IndexError>([&] { rows.batch(std::array<int64_t, 1>{2}); },
                           "pack: there is no row 2: there are 2. Count them from 0.");
}

TEST(Packing, RefusesWhatDoesNotFit) {
  expect_error<DataError>(
      [] {
        rows_of({3, 9}, 8);
      },
      "pack: document 1 has 9 tokens, for rows of 8. Cut it, leave it out, or "
      "use longer rows.");
  expect_error<DataError>(
      [] {
        rows_of({3, 0}, 8);
      },
      "pack: document 1 has 0 tokens, for rows of 8. Cut it, leave it out, or "
      "use longer rows.");
  expect_error<DataError>(
      [] {
        PackedRows({{{1, 2}, {2, 3}}, {{1}, {7, 7}}}, 8);
      },
      "pack: document 1 has 2 labels for 1 tokens. Give each its label, kIgnoredLabel where none "
      "counts.");
  expect_error<ValueError>([] { rows_of({3}, 0); },
                           "pack: a row has no room: 0. Use a length of 1 or more.");
}

// A small GPT: tokens and positions, two blocks, a head.
struct Model : nn::Module {
  Model(nn::Initializer& init, bool by_block) : checkpoint(by_block) {
    tokens = &add<nn::Embedding>("tokens", 50, 32, init);
    positions = &add<nn::LearnedPositions>("positions", 96, 32, init);
    for (int i = 0; i < 2; ++i)
      blocks.push_back(&add<nn::TransformerBlock>(
          cat("block", i), 32, init, nn::TransformerOptions{.heads = 4, .causal = true}));
    head = &add<nn::Linear>("head", 32, 50, init);
  }
  Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
    Tensor h = (*positions)((*tokens)(x, mode), mode);
    for (const nn::TransformerBlock* block : blocks)
      h = checkpoint ? nn::checkpointed(*block, h, mode) : (*block)(h, mode);
    return (*head)(h, mode);
  }
  bool checkpoint;
  const nn::Embedding* tokens;
  const nn::LearnedPositions* positions;
  std::vector<const nn::TransformerBlock*> blocks;
  const nn::Linear* head;
};

Tensor summed_loss(const Model& model, const Batch& batch, bool packed) {
  nn::Mode mode = nn::training();
  if (packed) {
    mode.segments = part(batch, 1);
    mode.positions = part(batch, 2);
  }
  return cross_entropy(model(part(batch, 0), mode), batch.y, {.reduction = Reduction::sum});
}

void expect_loss_of_each_alone(bool checkpoint) {
  nn::Initializer init{.seed = 3};
  const Model model(init, checkpoint);
  const std::vector<Tensor> parameters = model.parameters();
  std::vector<std::vector<int32_t>> documents;
  for (const int n : {40, 3, 17, 60, 9, 2, 31, 80})
    for (documents.emplace_back(); std::ssize(documents.back()) < n;)
      documents.back().push_back((7 * n + 13 * static_cast<int>(documents.back().size())) % 50);

  const PackedRows rows = pack(documents, 96);
  ASSERT_EQ(rows.count(), 3);
  const Tensor packed = summed_loss(model, all_rows(rows), true);
  const std::vector<Tensor> packed_grads = gradients(packed, parameters);

  double loss = 0;
  std::vector<Tensor> grads;
  for (const auto& document : documents) {  // a row of its own, without segments
    const PackedRows alone = pack({document}, std::ssize(document));
    const Tensor own = summed_loss(model, all_rows(alone), false);
    loss += own.item();
    const std::vector<Tensor> own_grads = gradients(own, parameters);
    for (size_t i = 0; i < own_grads.size(); ++i)
      if (grads.size() < own_grads.size())
        grads.push_back(own_grads[i]);
      else
        grads[i] = grads[i] + own_grads[i];
  }
  EXPECT_NEAR(packed.item(), loss, 2e-6 * loss);
  for (size_t i = 0; i < grads.size(); ++i)
    EXPECT_LE(relative_error(to_array(packed_grads[i]), to_array(grads[i])), 2e-5) << i;
  // With segments left out documents see each other.
  EXPECT_GT(std::abs(summed_loss(model, all_rows(rows), false).item() - loss), 1e-4 * loss);
}

TEST(Packing, PackedDocumentsGiveTheLossAndTheGradientsOfEachAlone) {
  for (const bool checkpoint : {false, true}) {
    SCOPED_TRACE(checkpoint);
    expect_loss_of_each_alone(checkpoint);
  }
}

// Learned and rotary positions begin anew in each document.
TEST(Packing, DecodersReadEachDocumentAlone) {
  for (const bool like_gpt2 : {false, true}) {
    SCOPED_TRACE(like_gpt2);
    nn::DecoderConfig config{.vocabulary = 50,
                             .width = 16,
                             .layers = 2,
                             .heads = 2,
                             .kv_heads = 2,
                             .head_width = 8,
                             .feed_forward = 24,
                             .context = 32,
                             .like_gpt2 = like_gpt2};
    nn::Initializer init{.seed = 4};
    const nn::Decoder model(config, nn::drawn_weights(init), init);
    const std::vector<std::vector<int32_t>> documents{{1, 2, 3, 4, 5, 6, 7}, {8, 9, 10}, {11, 12}};
    const Batch batch = all_rows(pack(documents, 12));
    const std::vector<float> all =
        model(part(batch, 0), {.positions = part(batch, 2), .segments = part(batch, 1)})
            .to_vector<float>();
    size_t at = 0;
    for (const auto& document : documents) {
      const std::vector<int64_t> ids(document.begin(), document.end());
      for (const float logit :
           model(Tensor::of<int64_t>(ids, {1, std::ssize(ids)})).to_vector<float>())
        EXPECT_NEAR(all[at++], logit, 1e-5);
    }
    EXPECT_THROW(model(part(batch, 0), {.segments = part(batch, 1)}), StateError);
  }
}

}  // namespace
}  // namespace plimsoll::data
