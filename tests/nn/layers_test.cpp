// Linear, convolutions, pools and the rest of what has no state: values, shapes, refusals.
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

TEST(NnLayers, LinearKeepsAllAxesButTheLast) {
  Initializer init{.seed = 1, .placement = kDouble};
  const Linear layer(4, 3, init), bare(4, 3, init, {.bias = false});
  const Tensor x = draw({2, 5, 4}, 1);
  EXPECT_EQ(layer(x).shape(), (Shape{2, 5, 3}));
  EXPECT_LE(distance(values(layer(x)),
                     plain_linear(values(x), values(layer.weight()), values(layer.bias()), 4)),
            1e-14);
  EXPECT_LE(distance(values(bare(x)), plain_linear(values(x), values(bare.weight()), {}, 4)),
            1e-14);
  EXPECT_FALSE(bare.bias().defined());
  EXPECT_EQ(bare.parameter_count(), 12);
}

// One output of a convolution of x [N, H, W, C] with filters [O, KH, KW, C / groups].
struct PlainConv {
  int64_t stride = 1, padding = 0, groups = 1;
  Doubles operator()(const Doubles& x, const Shape& xs, const Doubles& w, const Shape& ws) const {
    const int64_t per_group = ws[0] / groups;
    Doubles y;
    for (int64_t n = 0; n < xs[0]; ++n)
      for (int64_t i = -padding; i + ws[1] <= xs[1] + padding; i += stride)
        for (int64_t j = -padding; j + ws[2] <= xs[2] + padding; j += stride)
          for (int64_t o = 0; o < ws[0]; ++o) {
            double total = 0;
            for (int64_t a = 0; a < ws[1]; ++a)
              for (int64_t b = 0; b < ws[2]; ++b)
                for (int64_t c = 0; c < ws[3]; ++c) {
                  const int64_t h = i + a, k = j + b, from = o / per_group * ws[3] + c;
                  if (h < 0 || h >= xs[1] || k < 0 || k >= xs[2]) continue;
                  total += x[size_t(((n * xs[1] + h) * xs[2] + k) * xs[3] + from)] *
                           w[size_t(((o * ws[1] + a) * ws[2] + b) * ws[3] + c)];
                }
            y.push_back(total);
          }
    return y;
  }
};

void add_bias(Doubles& y, const Doubles& bias) {
  for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
}

TEST(NnLayers, Conv2d) {
  Initializer init{.seed = 2, .placement = kDouble};
  const Conv2d conv(4, 6, 3, init, {.stride = 2, .padding = 1, .groups = 2});
  EXPECT_EQ(conv.parameters()[0].shape(), (Shape{6, 3, 3, 2}));
  const Tensor x = draw({2, 5, 7, 4}, 1);
  Doubles expected = PlainConv{2, 1, 2}(values(x), x.shape(), values(conv, "weight"), {6, 3, 3, 2});
  add_bias(expected, values(conv, "bias"));
  EXPECT_EQ(conv(x).shape(), (Shape{2, 3, 4, 6}));
  EXPECT_LE(distance(values(conv(x)), expected), 1e-14);

  const Conv2d tall(1, 2, {3, 1}, init, {.bias = false});
  EXPECT_EQ(tall(draw({1, 4, 4, 1}, 1)).shape(), (Shape{1, 2, 4, 2}));
  EXPECT_EQ(tall.parameter_count(), 6);
  const Conv2d wide(1, 2, 3, init, {.padding = {2, 0, 4, 4}, .dilation = {1, 4}});
  EXPECT_EQ(wide(draw({1, 4, 4, 1}, 1)).shape(), (Shape{1, 4, 4, 2}));
}

TEST(NnLayers, SeparableConv2d) {
  Initializer init{.seed = 3, .placement = kDouble};
  const SeparableConv2d conv(3, 5, 3, init, {.padding = 1, .multiplier = 2});
  EXPECT_EQ(names(conv.named_parameters()),
            (std::vector<std::string>{"depthwise.weight", "pointwise.weight", "pointwise.bias"}));
  EXPECT_EQ(conv.parameter_count(), 3 * 3 * 3 * 2 + 6 * 5 + 5);
  const Tensor x = draw({2, 4, 6, 3}, 1);
  const Doubles between =
      PlainConv{1, 1, 3}(values(x), x.shape(), values(conv, "depthwise.weight"), {6, 3, 3, 1});
  Doubles expected =
      PlainConv{}(between, {2, 4, 6, 6}, values(conv, "pointwise.weight"), {5, 1, 1, 6});
  add_bias(expected, values(conv, "pointwise.bias"));
  EXPECT_EQ(conv(x).shape(), (Shape{2, 4, 6, 5}));
  EXPECT_LE(distance(values(conv(x)), expected), 1e-14);
  const SeparableConv2d strided(3, 5, 3, init, {.stride = {2, 1}, .bias = false});
  EXPECT_EQ(strided(x).shape(), (Shape{2, 1, 4, 5}));
  EXPECT_EQ(strided.parameter_count(), 27 + 15);
}

TEST(NnLayers, PoolsAndFlatten) {
  const Tensor x = draw({2, 6, 4, 3}, 1);
  EXPECT_EQ(MaxPool2d(2)(x).shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(AvgPool2d({3, 2}, {.stride = 1})(x).shape(), (Shape{2, 4, 3, 3}));
  EXPECT_EQ(MaxPool2d(3, {.stride = 2, .padding = 1})(x).shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(
      AvgPool2d(2, {.padding = {0, 1, 0, 0}, .dilation = {2, 1}, .ceil_mode = true})(x).shape(),
      avg_pool2d(x, {.padding = {0, 1, 0, 0}, .dilation = {2, 1}, .ceil_mode = true}).shape());
  EXPECT_EQ(Upsample({.scale = 2.0})(x).shape(), (Shape{2, 2 * x.size(1), 2 * x.size(2), 3}));
  EXPECT_EQ(AdaptiveMaxPool2d({3, 1})(x).shape(), (Shape{2, 3, 1, 3}));
  EXPECT_EQ(values(AdaptiveAvgPool2d(1)(x)), values(GlobalAvgPool()(x)));
  EXPECT_EQ(GlobalAvgPool()(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(Flatten()(x).shape(), (Shape{2, 72}));
  EXPECT_EQ(Flatten()(draw({0, 6, 4}, 1)).shape(), (Shape{0, 24}));
  const Tensor image = Tensor::of<double>({1, 5, 3, -1}, {1, 2, 2, 1});
  EXPECT_EQ(MaxPool2d(2)(image).item(), 5);
  EXPECT_EQ(AvgPool2d(2)(image).item(), 2);
  EXPECT_EQ(GlobalAvgPool()(image).item(), 2);
  EXPECT_EQ(values(GlobalAvgPool()(reshape(image, {1, 2, 2}))), (Doubles{2, 2}));
  EXPECT_EQ(values(ReLU()(image)), (Doubles{1, 5, 3, 0}));
  EXPECT_NEAR(values(GELU()(image))[0], 0.5 * (1 + std::erf(1 / std::sqrt(2.0))), 1e-12);
}

TEST(NnLayers, RefusesOtherShapes) {
  Initializer init{.seed = 4};
  const Linear linear(4, 3, init);
  const Conv2d conv(4, 3, 3, init);
  EXPECT_EQ(error_of<ShapeError>([&] {
              linear(zeros({2, 5}));
            }),
            "linear: the last axis of the input is not 4: got [2, 5]. Match the width that the "
            "module was built for.");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv(zeros({1, 8, 8, 3}));
            }),
            "conv2d: the input is not [N, H, W, 4]: got [1, 8, 8, 3]. Match the channels that the "
            "module was built for.");
  EXPECT_EQ(error_of<StateError>([&] { Flatten()(Tensor()); }),
            "flatten: the tensor is undefined. Pass one that was computed.");
  EXPECT_EQ(error_of<ShapeError>([&] { Flatten()(zeros({})); }),
            "flatten: the input has no axes: got []. Give a batch [N, ...].");
  EXPECT_EQ(error_of<ValueError>([&] { Linear(0, 3, init); }),
            "linear: the widths are not all positive: [0, 3]. Use sizes of at least 1.");
  EXPECT_EQ(error_of<ValueError>([&] { Conv2d(4, 6, 3, init, {.groups = 4}); }),
            "conv2d: 4 groups do not divide the channels: 4 to 6. Choose a number that divides "
            "both.");
}

}  // namespace
}  // namespace plimsoll::nn
