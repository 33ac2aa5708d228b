// Multi-head attention against plain loops, transformer blocks against their parts.
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/gelu/gelu.h"
#include "ops/pointwise/relu/relu.h"
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

// softmax(q k' / sqrt(E)) v for each sequence and head; qkv [B, T, 3, H, E] -> [B, T, H, E].
Doubles plain_attention(const Doubles& qkv, size_t batch, size_t steps, size_t heads, size_t width,
                        bool causal) {
  const auto at = [&](size_t b, size_t t, size_t part, size_t h, size_t e) {
    return qkv[(((b * steps + t) * 3 + part) * heads + h) * width + e];
  };
  Doubles out;
  for (size_t b = 0; b < batch; ++b)
    for (size_t t = 0; t < steps; ++t)
      for (size_t h = 0; h < heads; ++h) {
        Doubles weight;
        double total = 0;
        for (size_t s = 0; s < (causal ? t + 1 : steps); ++s) {
          double score = 0;
          for (size_t e = 0; e < width; ++e) score += at(b, t, 0, h, e) * at(b, s, 1, h, e);
          weight.push_back(std::exp(score / std::sqrt(double(width))));
          total += weight.back();
        }
        for (size_t e = 0; e < width; ++e) {
          double mixed = 0;
          for (size_t s = 0; s < weight.size(); ++s) mixed += weight[s] / total * at(b, s, 2, h, e);
          out.push_back(mixed);
        }
      }
  return out;
}

TEST(NnAttention, AgreesWithPlainLoops) {
  for (const bool causal : {false, true}) {
    Initializer init{.seed = 1, .placement = kDouble};
    const MultiHeadAttention attention(6, init, {.heads = 2, .causal = causal});
    shake(attention, 10);
    EXPECT_EQ(names(attention.named_parameters()),
              (std::vector<std::string>{"qkv.weight", "qkv.bias", "output.weight", "output.bias"}));
    EXPECT_EQ(attention.parameter_count(), 4 * 6 * 6 + 4 * 6);
    const Tensor x = draw({2, 5, 6}, 1);
    const Doubles qkv =
        plain_linear(values(x), values(attention, "qkv.weight"), values(attention, "qkv.bias"), 6);
    const Doubles mixed = plain_attention(qkv, 2, 5, 2, 3, causal);
    const Doubles expected = plain_linear(mixed, values(attention, "output.weight"),
                                          values(attention, "output.bias"), 6);
    EXPECT_EQ(attention(x).shape(), x.shape());
    EXPECT_LE(distance(values(attention(x)), expected), 1e-12);
  }
}

TEST(NnAttention, DropsItsResultInTraining) {
  Initializer init{.seed = 1, .placement = kDouble};
  const MultiHeadAttention attention(4, init, {.heads = 2, .bias = false, .dropout = 0.5});
  EXPECT_EQ(attention.parameter_count(), 4 * 4 * 4);
  const Tensor x = draw({2, 8, 4}, 1);
  const Doubles whole = values(attention(x));
  const Doubles dropped = values(attention(x, training(make_key(1, 2))));
  size_t zeros = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool dropped_out = dropped[i] == 0;
    zeros += dropped_out;
    EXPECT_NEAR(dropped[i], dropped_out ? 0 : 2 * whole[i], 1e-12);
  }
  EXPECT_GT(zeros, whole.size() / 4);
  EXPECT_LT(zeros, whole.size() * 3 / 4);
}

TEST(NnAttention, RefusesWhatDoesNotFit) {
  Initializer init{.seed = 1};
  EXPECT_EQ(error_of<ValueError>([&] { MultiHeadAttention(6, init, {.heads = 4}); }),
            "attention: 4 heads do not divide the width 6. Choose a number of heads that does.");
  const MultiHeadAttention attention(6, init, {.heads = 2});
  EXPECT_EQ(
      error_of<ShapeError>([&] {
        attention(zeros({5, 6}));
      }),
      "attention: the input is not [B, T, 6]: got [5, 6]. Match the width that the module was "
      "built for.");
}

// A module with the parameters of one child of a block: how the parts are tried by hand.
template <class M>
void copy_child(const Module& block, const std::string& child, const M& part) {
  for (const NamedTensor& own : part.named_parameters())
    for (const NamedTensor& theirs : block.named_parameters())
      if (theirs.name == child + "." + own.name) assign(own.tensor, theirs.tensor);
}

struct Parts {
  Initializer init{.seed = 99, .placement = kDouble};
  LayerNorm norm1{6, init}, norm2{6, init};
  MultiHeadAttention attention{6, init, {.heads = 3, .causal = true}};
  Linear expand{6, 10, init}, contract{10, 6, init};

  explicit Parts(const Module& block) {
    copy_child(block, "norm1", norm1);
    copy_child(block, "norm2", norm2);
    copy_child(block, "attention", attention);
    copy_child(block, "expand", expand);
    copy_child(block, "contract", contract);
  }
};

TEST(NnTransformer, PreNorm) {
  for (const Activation activation : {Activation::gelu, Activation::gelu_tanh}) {
    Initializer init{.seed = 2, .placement = kDouble};
    const TransformerBlock block(
        6, init, {.heads = 3, .feed_forward = 10, .causal = true, .activation = activation});
    shake(block, 20);
    const Parts p(block);
    const Tensor x = draw({2, 4, 6}, 1);
    const Tensor h = x + p.attention(p.norm1(x));
    const Tensor wide = p.expand(p.norm2(h));
    const Tensor y = h + p.contract(activation == Activation::gelu ? gelu(wide) : gelu_tanh(wide));
    EXPECT_EQ(values(block(x)), values(y));
  }
}

TEST(NnTransformer, PostNorm) {
  Initializer init{.seed = 2, .placement = kDouble};
  const TransformerBlock block(6, init,
                               {.heads = 3,
                                .feed_forward = 10,
                                .causal = true,
                                .norm = NormOrder::post,
                                .activation = Activation::relu});
  shake(block, 20);
  const Parts p(block);
  const Tensor x = draw({2, 4, 6}, 1);
  const Tensor h = p.norm1(x + p.attention(x));
  const Tensor y = p.norm2(h + p.contract(relu(p.expand(h))));
  EXPECT_EQ(values(block(x)), values(y));
}

// With one branch silenced, training differs from evaluation by the dropout of the other alone.
TEST(NnTransformer, BothBranchesDrop) {
  for (const NormOrder order : {NormOrder::pre, NormOrder::post})
    for (const char* silenced : {"attention.output.", "contract."}) {
      Initializer init{.seed = 2, .placement = kDouble};
      const TransformerBlock block(8, init, {.heads = 2, .dropout = 0.5, .norm = order});
      for (const NamedTensor& own : block.named_parameters())
        if (own.name.starts_with(silenced)) assign(own.tensor, zeros(own.tensor.shape(), kDouble));
      const Tensor x = draw({2, 4, 8}, 1);
      EXPECT_NE(values(block(x, training(make_key(1, 1)))), values(block(x)));
    }
}

TEST(NnTransformer, NamesAndDefaults) {
  Initializer init{.seed = 2, .placement = kDouble};
  const TransformerBlock block(4, init, {.heads = 2, .bias = false, .dropout = 0.1});
  EXPECT_EQ(names(block.named_parameters()),
            (std::vector<std::string>{"norm1.gamma", "norm1.beta", "attention.qkv.weight",
                                      "attention.output.weight", "norm2.gamma", "norm2.beta",
                                      "expand.weight", "contract.weight"}));
  EXPECT_EQ(block.parameter_count(), 12 * 4 * 4 + 4 * 4);
  const Tensor x = draw({2, 3, 4}, 1);
  EXPECT_EQ(values(block(x)), values(block(x)));
  EXPECT_NE(values(block(x)), values(block(x, training(make_key(1, 1)))));
  EXPECT_EQ(values(block(x, training(make_key(1, 1)))), values(block(x, training(make_key(1, 1)))));
}

}  // namespace
}  // namespace plimsoll::nn
