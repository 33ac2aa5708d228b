// Which calls of attention are cuDNN's, and how it is asked about them.
#include <gtest/gtest.h>

#include <array>

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

TEST(AttentionByLibrary, IsAskedWithTheStridesOfItsOperands) {
  using All = cuda::Attention::Strides;
  const auto dense = library_attention(kSizes, DType::bf16, false, true, {});
  ASSERT_TRUE(dense);
  EXPECT_TRUE(dense->gradient);
  EXPECT_EQ(dense->q, (All{128 * 256, 256, 64}));
  EXPECT_EQ(dense->v, dense->dense());

  // q and k are slices of one tensor [B, T, 3 H, D], v is [B, H, T, D] turned; the rest is not its.
  const std::array<Strides, 4> strides{Strides{128 * 768, 768, 64, 1},
                                       Strides{128 * 768, 768, 64, 1},
                                       Strides{128 * 256, 64, 128 * 64, 1}, Strides{3, 3, 3, 3}};
  const auto sliced = library_attention(kSizes, DType::f16, false, false, strides);
  ASSERT_TRUE(sliced);
  EXPECT_EQ(sliced->q, (All{128 * 768, 768, 64}));
  EXPECT_EQ(sliced->k, sliced->q);
  EXPECT_EQ(sliced->v, (All{128 * 256, 64, 128 * 64}));
}

TEST(AttentionByLibrary, WhatItDoesNotReadItIsNotAsked) {
  for (const Strides& bad : {Strides{128 * 256, 256, 4, 1}, Strides{0, 256, 64, 1}}) {
    std::array<Strides, 3> strides{};
    strides.fill({128 * 256, 256, 64, 1});
    EXPECT_TRUE(library_attention(kSizes, DType::f16, false, false, strides));
    strides[2] = bad;
    EXPECT_FALSE(library_attention(kSizes, DType::f16, false, false, strides));
  }
  EXPECT_FALSE(library_attention(kSizes, DType::f32, false, false, {}));
  EXPECT_FALSE(library_attention(kSizes, DType::f16, true, false, {}));
}

}  // namespace
}  // namespace plimsoll::attention_detail
