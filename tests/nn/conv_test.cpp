// Convolutions over sequences and transposed ones: values where one product tells, shapes,
// parameters, refusals. (The ops have references of their own.)
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

TEST(NnConv, Conv1d) {
  Initializer init{.seed = 2, .placement = kDouble};
  const Conv1d conv(2, 3, 2, init, {.padding = {1, 0}});
  EXPECT_EQ(conv.parameters()[0].shape(), (Shape{3, 2, 2}));
  const Tensor x = draw({2, 4, 2}, 1);
  const Tensor y = conv(x);
  EXPECT_EQ(y.shape(), (Shape{2, 4, 3}));
  const Doubles w = values(conv, "weight"), b = values(conv, "bias"), in = values(x);
  Doubles first;  // place 0 sees one zero before it
  for (size_t o = 0; o < 3; ++o)
    first.push_back(b[o] + w[o * 4 + 2] * in[0] + w[o * 4 + 3] * in[1]);
  EXPECT_LE(distance(values(slice(slice(y, 0, 0, 1), 1, 0, 1)), first), 1e-14);

  const Conv1d grouped(4, 6, 3, init, {.stride = 2, .dilation = 2, .groups = 2, .bias = false});
  EXPECT_EQ(grouped.parameter_count(), 6 * 3 * 2);
  EXPECT_EQ(grouped(draw({1, 9, 4}, 1)).shape(), (Shape{1, 3, 6}));
}

TEST(NnConv, ConvTranspose1d) {
  Initializer init{.seed = 3, .placement = kDouble};
  const ConvTranspose1d up(2, 3, 2, init, {.stride = 2});
  EXPECT_EQ(up.parameters()[0].shape(), (Shape{2, 2, 3}));
  const Tensor x = draw({1, 3, 2}, 1);
  const Tensor y = up(x);
  EXPECT_EQ(y.shape(), (Shape{1, 6, 3}));
  const Doubles w = values(up, "weight"), b = values(up, "bias"), in = values(x);
  Doubles last;  // the second tap of the third place
  for (size_t o = 0; o < 3; ++o) last.push_back(b[o] + w[3 + o] * in[4] + w[9 + o] * in[5]);
  EXPECT_LE(distance(values(slice(y, 1, 5, 6)), last), 1e-14);

  const ConvTranspose1d other(
      4, 2, 3, init,
      {.stride = 3, .padding = 1, .output_padding = 2, .dilation = 2, .groups = 2, .bias = false});
  EXPECT_EQ(other.parameter_count(), 4 * 3);
  EXPECT_EQ(other(draw({1, 4, 4}, 1)).shape(), (Shape{1, 14, 2}));
}

TEST(NnConv, ConvTranspose2d) {
  Initializer init{.seed = 4, .placement = kDouble};
  const ConvTranspose2d up(2, 3, 2, init, {.stride = 2});
  EXPECT_EQ(up.parameters()[0].shape(), (Shape{2, 2, 2, 3}));
  const Tensor x = draw({1, 3, 4, 2}, 1);
  const Tensor y = up(x);
  EXPECT_EQ(y.shape(), (Shape{1, 6, 8, 3}));
  const Doubles w = values(up, "weight"), b = values(up, "bias"), in = values(x);
  Doubles first;
  for (size_t o = 0; o < 3; ++o) first.push_back(b[o] + w[o] * in[0] + w[12 + o] * in[1]);
  EXPECT_LE(distance(values(slice(slice(y, 1, 0, 1), 2, 0, 1)), first), 1e-14);
}

TEST(NnConv, TransposedConvolutionUndoesTheSizes) {
  Initializer init;
  const Conv2d down(3, 4, 3, init, {.stride = 2, .padding = {0, 1, 1, 1}});
  const ConvTranspose2d up(4, 3, 3, init,
                           {.stride = 2, .padding = {0, 1, 1, 1}, .output_padding = {0, 1}});
  const Tensor x = ones({1, 8, 6, 3});
  EXPECT_EQ(up(down(x)).shape(), x.shape());
}

TEST(NnConv, Refusals) {
  Initializer init;
  expect_error<ValueError>([&] { Conv1d(3, 4, 2, init, {.groups = 2}); },
                           "conv1d: 2 groups do not divide the channels: 3 to 4. Choose a number "
                           "that divides both.");
  expect_error<ValueError>([&] { ConvTranspose1d(3, 0, 2, init); },
                           "conv_transpose1d: the channels, kernel and groups are not all "
                           "positive: [3, 0, 2, 1]. Use sizes of at least 1.");
  expect_error<ShapeError>(
      [&] {
        ConvTranspose2d(3, 4, 2, init)(ones({1, 4, 4, 4}));
      },
      "conv_transpose2d: the input is not [N, H, W, 3]: got [1, 4, 4, 4]. "
      "Match the channels that the module was built for.");
}

}  // namespace
}  // namespace plimsoll::nn
