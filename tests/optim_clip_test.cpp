// Clipping by global norm.
#include <gtest/gtest.h>

#include "core/trace.h"
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

TEST(Clip, OfWholeModelsNeedsOneNormOp) {
  const Program program = capture([](auto in) { return optim::clip_by_global_norm(in, 1).grads; },
                                  Metas(100, Meta{{3}}));
  EXPECT_EQ(program.instructions.size(), 101u);
}

TEST(Clip, RefusesANormOfZero) {
  EXPECT_THROW(optim::clip_by_global_norm(kGrads, 0), ValueError);
  EXPECT_THROW(optim::clip_by_global_norm({}, 1), ShapeError);
}

}  // namespace
}  // namespace plimsoll
