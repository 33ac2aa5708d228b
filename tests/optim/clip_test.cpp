// Clipping by global norm and by value.
#include <gtest/gtest.h>

#include <cmath>

#include "core/engine/trace.h"
#include "ops/ops.h"
#include "optim/clip.h"

namespace plimsoll {
namespace {

const std::vector<Tensor> kGrads{Tensor::of<float>({3, 0}, {2}), Tensor::of<float>({-4}, {1, 1})};

TEST(Clip, ScalesAllByOneFactor) {
  const auto [grads, norm] = optim::clip_by_global_norm(kGrads, 1);
  EXPECT_EQ(norm.item(), 5);
  EXPECT_NEAR(grads[0].to_vector<double>()[0], 3 / (5 + 1e-6), 1e-7);
  EXPECT_EQ(grads[0].to_vector<double>()[1], 0);
  EXPECT_NEAR(grads[1].item(), -4 / (5 + 1e-6), 1e-7);
  EXPECT_EQ(kGrads[1].item(), -4);  // the given ones are not touched
}

TEST(Clip, LeavesShortGradientsAsTheyAre) {
  const auto [grads, norm] = optim::clip_by_global_norm(kGrads, 6);
  EXPECT_EQ(norm.item(), 5);
  EXPECT_EQ(grads[0].to_vector<float>(), kGrads[0].to_vector<float>());
  EXPECT_EQ(grads[1].item(), -4);
}

TEST(Clip, IsOffTheTape) {
  const auto [grads, norm] = optim::clip_by_global_norm(std::vector{ones({2}).require_grad()}, 1);
  EXPECT_FALSE(norm.needs_grad());
  EXPECT_FALSE(grads[0].needs_grad());
}

TEST(Clip, OfWholeModelsAddsAllUpAtOnce) {
  const Program program = capture([](auto in) { return optim::clip_by_global_norm(in, 1).grads; },
                                  Metas(100, Meta{{3}}));
  EXPECT_EQ(program.instructions.size(), 4 + 100u);  // sums of squares, sum, root, type
}

TEST(Clip, RefusesANormOfZero) {
  EXPECT_THROW(optim::clip_by_global_norm(kGrads, 0), ValueError);
  EXPECT_THROW(optim::clip_by_global_norm({}, 1), ShapeError);
}

TEST(ClipValue, BoundsEachElement) {
  const std::vector<Tensor> grads{Tensor::of<float>({3, -0.25, -INFINITY, 0.5}, {4}), kGrads[1],
                                  Tensor::of<double>({}, {0})};
  const std::vector<Tensor> clipped = optim::clip_grad_value(grads, 0.5);
  ASSERT_EQ(clipped.size(), 3u);
  EXPECT_EQ(clipped[0].to_vector<float>(), (std::vector<float>{0.5, -0.25, -0.5, 0.5}));
  EXPECT_EQ(clipped[1].item(), -0.5);
  EXPECT_EQ(clipped[2].meta(), grads[2].meta());
  EXPECT_EQ(kGrads[1].item(), -4);  // the given ones are not touched
}

TEST(ClipValue, KeepsNaN) {
  const Tensor grad = Tensor::of<float>({NAN}, {1});
  EXPECT_TRUE(std::isnan(optim::clip_grad_value(std::vector{grad}, 1)[0].item()));
}

TEST(ClipValue, TakesStridedGradientsAndIsOffTheTape) {
  const Tensor grad = transpose(Tensor::of<float>({1, 2, 3, 4}, {2, 2})).require_grad();
  const std::vector<Tensor> clipped = optim::clip_grad_value(std::vector{grad}, 2.5);
  EXPECT_EQ(clipped[0].to_vector<float>(), (std::vector<float>{1, 2.5, 2, 2.5}));
  EXPECT_FALSE(clipped[0].needs_grad());
}

TEST(ClipValue, CanBeCaptured) {
  const Program program =
      capture([](auto in) { return optim::clip_grad_value(in, 1); }, Metas(3, Meta{{3}}));
  EXPECT_EQ(program.instructions.size(), 3u);
}

TEST(ClipValue, RefusesALimitThatIsNotPositive) {
  for (const double limit : {0.0, -1.0, static_cast<double>(NAN)}) {
    EXPECT_THROW(optim::clip_grad_value(kGrads, limit), ValueError) << limit;
    EXPECT_THROW(optim::clip_grad_value({}, limit), ValueError) << limit;
  }
}

}  // namespace
}  // namespace plimsoll
