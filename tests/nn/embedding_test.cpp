// Tokens and positions.
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

TEST(NnEmbedding, PicksRows) {
  Initializer init{.seed = 1, .placement = kDouble};
  const Embedding embedding(7, 3, init);
  const Tensor ids = Tensor::of<int64_t>({6, 0, 6, 2}, {2, 2});
  const Doubles table = values(embedding, "weight");
  Doubles expected;
  for (const size_t id : {6, 0, 6, 2})
    for (size_t d = 0; d < 3; ++d) expected.push_back(table[id * 3 + d]);
  EXPECT_EQ(embedding(ids).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(values(embedding(ids)), expected);
  EXPECT_NE(error_of<IndexError>([&] { embedding(Tensor::of<int64_t>({7}, {1})); }),
            "nothing was thrown");
}

TEST(NnEmbedding, SinusoidsFollowTheFormula) {
  for (const int64_t width : {6, 7}) {  // an odd width ends with a sine
    const Doubles table = values(sinusoidal_positions(50, width, kDouble));
    for (size_t at = 0; at < table.size(); ++at) {
      const size_t t = at / size_t(width), d = at % size_t(width), pair = d / 2;
      const double rate = std::exp(-std::log(10000.0) * double(2 * pair) / double(width));
      const double angle = double(t) * rate;
      EXPECT_NEAR(table[at], d == 2 * pair ? std::sin(angle) : std::cos(angle), 1e-12);
    }
  }
}

void expect_adds_its_table(const Module& positions) {
  const Tensor x = draw({2, 3, 4}, 1);
  Doubles expected = values(x);
  const Doubles table = values(positions, "table");
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += table[i % 12];
  EXPECT_EQ(values(positions(x)), expected);
  EXPECT_EQ(error_of<ShapeError>([&] {
              positions(zeros({1, 6, 4}, kDouble));
            }),
            "positions: the sequence is longer than 5: got [1, 6, 4]. Build the module with a "
            "larger length.");
  EXPECT_EQ(error_of<ShapeError>([&] {
              positions(zeros({1, 5, 3}, kDouble));
            }),
            "positions: the input is not [B, T, 4]: got [1, 5, 3]. Match the width that the module "
            "was built for.");
}

TEST(NnEmbedding, PositionsAreAddedToEachSequence) {
  Initializer init{.seed = 1, .placement = kDouble};
  const LearnedPositions learned(5, 4, init);
  const SinusoidalPositions sinusoidal(5, 4, init);
  expect_adds_its_table(learned);
  expect_adds_its_table(sinusoidal);
  EXPECT_EQ(learned.parameter_count(), 20);
  EXPECT_EQ(sinusoidal.parameter_count(), 0);
  EXPECT_EQ(names(sinusoidal.named_buffers()), std::vector<std::string>{"table"});
}

}  // namespace
}  // namespace plimsoll::nn
