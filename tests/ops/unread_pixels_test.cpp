// Pixels that no window of a convolution reads, and windows that do not read a pixel: what is not a
// number there reaches nothing else, in whatever pairs the processor multiplies; in tiles of
// Winograd's, nothing but their results.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops.h"

namespace plimsoll {
namespace {

class UnreadPixels : public testing::TestWithParam<DType> {};

// A row of pixels, one of which is infinite, and the gradient of a row of weights where dy is 1.
std::vector<float> weight_grad(int64_t pixels, int64_t infinite, int64_t taps, int64_t stride,
                               int64_t dilation) {
  std::vector<float> row(static_cast<size_t>(pixels), 1);
  row[static_cast<size_t>(infinite)] = INFINITY;
  const Tensor x = cast(Tensor::of<float>(row, {1, 1, pixels, 1}), UnreadPixels::GetParam());
  const int64_t windows = (pixels - (taps - 1) * dilation - 1) / stride + 1;
  const Tensor dy = full({1, 1, windows, 1}, 1, {.dtype = UnreadPixels::GetParam()});
  const Conv2dAttrs attrs{.stride = {1, stride}, .dilation = {1, dilation}};
  return cast(conv2d_weight_grad(x, dy, {1, taps}, attrs), DType::f32).to_vector<float>();
}

TEST_P(UnreadPixels, ReachNoGradientOfWeights) {
  const float inf = INFINITY;
  EXPECT_EQ(weight_grad(5, 1, 2, 1, 4), (std::vector<float>{1, 1}));
  EXPECT_EQ(weight_grad(5, 3, 3, 1, 1), (std::vector<float>{3, inf, inf}));
  EXPECT_EQ(weight_grad(7, 6, 3, 2, 1), (std::vector<float>{3, 3, inf}));
  EXPECT_EQ(weight_grad(3, 1, 3, 1, 1), (std::vector<float>{1, inf, 1}));
}

// The tile of the results 4 to 7 on each axis alone reads pixel 5; their windows are 4 to 6.
TEST_P(UnreadPixels, ReachNoResultsOfOtherTiles) {
  constexpr int64_t kSide = 20, kChannels = 32;
  const Placement placement{.dtype = GetParam()};
  const Tensor w = normal({kChannels, 3, 3, kChannels}, 0, 1, 1, placement);
  std::vector<float> pixels(kSide * kSide * kChannels, 1);
  const auto results = [&] {
    const Tensor x = cast(Tensor::of<float>(pixels, {1, kSide, kSide, kChannels}), GetParam());
    return cast(conv2d(x, w, {.padding = 1}), DType::f32).to_vector<float>();
  };
  const std::vector<float> finite = results();
  pixels[(5 * kSide + 5) * kChannels + 3] = INFINITY;
  const std::vector<float> infinite = results();
  const auto within = [](int64_t i, int64_t last) { return i >= 4 && i <= last; };
  for (int64_t i = 0; i < kSide; ++i)
    for (int64_t j = 0; j < kSide; ++j) {
      const auto at = static_cast<size_t>((i * kSide + j) * kChannels);
      if (within(i, 6) && within(j, 6)) {
        EXPECT_FALSE(std::isfinite(infinite[at])) << i << " " << j;
      } else if (!within(i, 7) || !within(j, 7)) {
        EXPECT_EQ(infinite[at], finite[at]) << i << " " << j;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, UnreadPixels, testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace plimsoll
