#include "nn/transformer.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/gelu/gelu.h"
#include "ops/pointwise/relu/relu.h"

namespace plimsoll::nn {
namespace {

TransformerOptions with_defaults(TransformerOptions options, int64_t width) {
  if (options.feed_forward == 0) options.feed_forward = 4 * width;
  return options;
}

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    default:
      return gelu(x);
  }
}

}  // namespace

TransformerBlock::TransformerBlock(int64_t width, Initializer& init,
                                   const TransformerOptions& options)
    : options_(with_defaults(options, width)),
      norm1_(add<LayerNorm>("norm1", width, init, LayerNormOptions{.eps = options.eps})),
      attention_(add<MultiHeadAttention>("attention", width, init,
                                         AttentionOptions{.heads = options.heads,
                                                          .causal = options.causal,
                                                          .bias = options.bias,
                                                          .dropout = options.dropout})),
      norm2_(add<LayerNorm>("norm2", width, init, LayerNormOptions{.eps = options.eps})),
      expand_(add<Linear>("expand", width, options_.feed_forward, init,
                          LinearOptions{.bias = options.bias})),
      contract_(add<Linear>("contract", options_.feed_forward, width, init,
                            LinearOptions{.bias = options.bias})),
      dropout_(add<Dropout>("dropout", options.dropout, init)) {}

Tensor TransformerBlock::feed_forward(const Tensor& x, const Mode& mode) const {
  return dropout_(contract_(activate(expand_(x, mode), options_.activation), mode), mode);
}

Tensor TransformerBlock::forward(const Tensor& x, const Mode& mode) const {
  if (options_.norm == NormOrder::pre) {
    const Tensor h = x + attention_(norm1_(x, mode), mode);
    return h + feed_forward(norm2_(h, mode), mode);
  }
  const Tensor h = norm1_(x + attention_(x, mode), mode);
  return norm2_(h + feed_forward(h, mode), mode);
}

}  // namespace plimsoll::nn
