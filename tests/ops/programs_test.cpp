// What ops leave in a captured program: that nothing is copied where the contract says so.
#include <gtest/gtest.h>

#include "autograd/gradients.h"
#include "core/engine/trace.h"
#include "ops/ops.h"

namespace plimsoll {
namespace {

using Names = std::vector<std::string>;

Names names(const StepFunction& step, const Metas& inputs) {
  Names result;
  for (const Instruction& i : capture(step, inputs).instructions) result.push_back(i.op->name);
  return result;
}

TEST(Programs, MatmulReadsTransposedViewsWhereTheyAre) {
  const auto forward = [](auto in) {
    return std::vector{matmul(transpose(in[0]), transpose(in[1]))};
  };
  EXPECT_EQ(names(forward, {Meta{{4, 3}}, Meta{{5, 4}}}), (Names{"matmul"}));
}

TEST(Programs, MatmulReadsAttentionHeadsWhereTheyAre) {
  const auto scores = [](auto in) {  // [B, T, H, D] -> [B, H, T, T]
    return std::vector{matmul(permute(in[0], {0, 2, 1, 3}), permute(in[1], {0, 2, 3, 1}))};
  };
  EXPECT_EQ(names(scores, {Meta{{2, 3, 2, 4}}, Meta{{2, 3, 2, 4}}}), (Names{"matmul"}));
}

TEST(Programs, GradientsOfMatmulAreTwoMoreProducts) {
  const auto both = [](auto in) {
    const std::vector<Tensor> x{in[0].require_grad(), in[1].require_grad()};
    return gradients(matmul(x[0], x[1]), x, {.seed = in[2]});
  };
  EXPECT_EQ(names(both, {Meta{{3, 4}}, Meta{{4, 5}}, Meta{{3, 5}}}),
            (Names{"matmul", "matmul", "matmul"}));
}

TEST(Programs, OnlyReshapingAStridedViewCopies) {
  const auto views = [](auto in) {
    const Tensor x = slice(permute(reshape(in[0], {2, 3, -1}), {2, 0, 1}), 0, 0, 4, 2);
    return std::vector{expand(slice(x, 1, 0, 1), {5, 2, 7, 3})};
  };
  EXPECT_EQ(names(views, {Meta{{6, 4}}}), Names{});
  const auto strided = [](auto in) { return std::vector{reshape(transpose(in[0]), {-1})}; };
  EXPECT_EQ(names(strided, {Meta{{6, 4}}}), (Names{"copy"}));
}

TEST(Programs, GradientsOfConcatAreViews) {
  const auto both = [](auto in) {
    const std::vector<Tensor> x{in[0].require_grad(), in[1].require_grad()};
    return gradients(concat(x, 1), x, {.seed = in[2]});
  };
  EXPECT_EQ(names(both, {Meta{{3, 4}}, Meta{{3, 5}}, Meta{{3, 9}}}),
            (Names{"concat", "copy", "copy"}));
}

TEST(Programs, DropoutKeepsNoMask) {
  const Tensor x = ones({1000}).require_grad();
  const Tensor y = dropout(x, 0.5, make_key(1, 2), 3);
  int64_t kept = 0;
  for (const auto* values : {&y.edge().node->in, &y.edge().node->out})
    for (const Value& value : *values)
      if (value.storage) kept += value.storage->bytes();
  EXPECT_EQ(kept, 16);  // the key
}

TEST(Programs, CastToTheSameTypeAndContiguousOfContiguousDoNothing) {
  const auto nothing = [](auto in) { return std::vector{contiguous(cast(in[0], DType::f32))}; };
  EXPECT_EQ(names(nothing, {Meta{{3, 4}}}), Names{});
}

TEST(Programs, LinearCrossEntropyHoldsNoLogits) {
  constexpr int64_t kRows = 4096, kClasses = 8192, kInputs = 16;
  const auto loss_and_gradients = [](auto in) {
    const std::vector<Tensor> x{in[0].require_grad(), in[1].require_grad()};
    const Tensor loss = linear_cross_entropy(x[0], x[1], {}, in[2]);
    return gradients(loss, x);
  };
  const Meta x{{kRows, kInputs}}, w{{kClasses, kInputs}}, labels{{kRows}, DType::i64};
  const Program program = capture(loss_and_gradients, Metas{x, w, labels});
  const int64_t logits = kRows * kClasses * 4;
  for (const Buffer& buffer : program.buffers) EXPECT_LT(buffer.bytes, logits / 8);
  for (const Instruction& i : program.instructions) EXPECT_LT(i.workspace, logits / 8);
}

}  // namespace
}  // namespace plimsoll
