// Pixels that no window of a convolution reads, and windows that do not read a pixel: what is not a
// number there reaches nothing else, in whatever pairs the processor multiplies.
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

INSTANTIATE_TEST_SUITE_P(Types, UnreadPixels, testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace plimsoll
