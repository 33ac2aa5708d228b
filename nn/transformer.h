// TransformerBlock: attention, then a feed-forward network at each position, each around a
// residual.
//
//   nn::TransformerBlock block(128, init, {.heads = 4, .feed_forward = 512, .causal = true});
//   Tensor y = block(x, mode);                         // [B, T, 128] -> [B, T, 128]
//
// pre-norm (GPT-2):  h = x + drop(attention(norm1(x)));   y = h + drop(ff(norm2(h)))
// post-norm (2017):  h = norm1(x + drop(attention(x)));   y = norm2(h + drop(ff(h)))
// with ff(h) = contract(activation(expand(h))). Children: norm1, attention, norm2, expand,
// contract, dropout (the attention has its own). Errors: those of its parts.
#pragma once

#include "nn/attention.h"
#include "nn/norm.h"

namespace plimsoll::nn {

enum class NormOrder { pre, post };
enum class Activation { gelu, gelu_tanh, relu };

struct TransformerOptions {
  int64_t heads = 1;
  int64_t feed_forward = 0;  // width in the middle; 0: four times the width
  bool causal = false;
  bool bias = true;
  double dropout = 0;
  double eps = 1e-5;
  NormOrder norm = NormOrder::pre;
  Activation activation = Activation::gelu;
};

class TransformerBlock : public Module {
 public:
  TransformerBlock(int64_t width, Initializer& init, const TransformerOptions& options);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  Tensor feed_forward(const Tensor& x, const Mode& mode) const;

  TransformerOptions options_;
  const LayerNorm& norm1_;
  const MultiHeadAttention& attention_;
  const LayerNorm& norm2_;
  const Linear &expand_, &contract_;
  const Dropout& dropout_;
};

}  // namespace plimsoll::nn
