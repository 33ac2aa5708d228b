#include "nn/quantised/quantised_linear.h"

#include "nn/expect.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/quantise/quantised_linear/quantised_linear.h"

namespace plimsoll::nn {

QuantisedLinear::QuantisedLinear(const Tensor& weight, const Tensor& bias, Quantisation kind)
    : QuantisedLinear(quantise(weight, kind), bias) {}

QuantisedLinear::QuantisedLinear(Quantised weight, const Tensor& bias)
    : weight_(std::move(weight)) {
  const int64_t outputs = weight_.shape[0];
  check<ShapeError>(!bias.defined() || bias.shape() == Shape{outputs},
                    "quantised_linear: the bias does not fit: ", bias.shape(), " for w ",
                    weight_.shape, ". Give it the shape [", outputs, "].");
  weight_.codes = add_buffer("codes", weight_.codes);
  weight_.scales = add_buffer("scales", weight_.scales);
  if (weight_.kind == Quantisation::nf4) {
    weight_.block_scales = add_buffer("block_scales", weight_.block_scales);
    weight_.offset = add_buffer("offset", weight_.offset);
  }
  if (bias.defined()) bias_ = add_buffer("bias", bias.detach());
}

Tensor QuantisedLinear::forward(const Tensor& x, const Mode&) const {
  check_width("quantised_linear", x, weight_.shape[1]);
  const Tensor y = quantised_linear(x, weight_);
  return bias_.defined() ? y + cast(bias_, y.dtype()) : y;
}

}  // namespace plimsoll::nn
