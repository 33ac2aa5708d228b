// Which calls of attention are cuDNN's, and how it is asked about them.
#include <gtest/gtest.h>

#include <vector>

#include "ops/attention/attention/on_cuda.h"

namespace plimsoll::attention_detail {
namespace {

constexpr Sizes kSizes{.batch = 2,
                       .queries = 128,
                       .keys = 128,
                       .heads = 4,
                       .kv_heads = 4,
                       .features = 64,
                       .values = 64,
                       .attrs = {.causal = true}};

std::vector<View> with_strides(std::initializer_list<Strides> all) {
  std::vector<View> views;
  for (const Strides& strides : all) views.push_back({nullptr, {}, strides});
  return views;
}

const Strides kDense{128 * 256, 256, 64, 1};

TEST(AttentionByLibrary, IsAskedWithTheStridesOfItsOperands) {
  using All = cuda::Attention::Strides;
  const auto dense =
      library_attention(kSizes, DType::bf16, false, true, with_strides({kDense, kDense, kDense}));
  ASSERT_TRUE(dense);
  EXPECT_TRUE(dense->gradient);
  EXPECT_EQ(dense->q, (All{128 * 256, 256, 64}));
  EXPECT_EQ(dense->v, dense->dense());

  // q and k are slices of one tensor [B, T, 3 H, D], v is [B, H, T, D] turned; the rest is not its.
  const Strides slice{128 * 768, 768, 64, 1};
  const auto sliced =
      library_attention(kSizes, DType::f16, false, false,
                        with_strides({slice, slice, {128 * 256, 64, 128 * 64, 1}, {3, 3, 3, 3}}));
  ASSERT_TRUE(sliced);
  EXPECT_EQ(sliced->q, (All{128 * 768, 768, 64}));
  EXPECT_EQ(sliced->k, sliced->q);
  EXPECT_EQ(sliced->v, (All{128 * 256, 64, 128 * 64}));
}

TEST(AttentionByLibrary, WhatItDoesNotReadItIsNotAsked) {
  const auto dense = with_strides({kDense, kDense, kDense});
  EXPECT_TRUE(library_attention(kSizes, DType::f16, false, false, dense));
  for (const Strides& bad : {Strides{128 * 256, 256, 4, 1}, Strides{0, 256, 64, 1}})
    EXPECT_FALSE(
        library_attention(kSizes, DType::f16, false, false, with_strides({kDense, kDense, bad})));
  EXPECT_FALSE(library_attention(kSizes, DType::f32, false, false, dense));
  EXPECT_FALSE(library_attention(kSizes, DType::f16, true, false, dense));
}

}  // namespace
}  // namespace plimsoll::attention_detail
