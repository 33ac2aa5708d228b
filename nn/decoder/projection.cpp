#include "nn/decoder/projection.h"

#include "autograd/checkpoint.h"
#include "core/engine/apply.h"
#include "ops/matmul/addmm/addmm.h"
#include "ops/matmul/linear/linear.h"
#include "ops/matmul/matmul/matmul.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/quantise/quantised_linear/quantised_linear.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias, bool transposed) {
  if (!transposed) return linear(x, weight, bias);
  return bias.defined() ? addmm(bias, x, weight) : matmul(x, weight);
}

}  // namespace

Tensor base_product(const Tensor& x, const Tensor& weight, const Tensor& bias, bool transposed) {
  // Autocast makes both one type.
  if (weight.dtype() == x.dtype() || apply_mode().casts)
    return product(x, weight, bias, transposed);
  const auto converted = [transposed](std::span<const Tensor> in) {
    const DType dtype = in[0].dtype();
    return product(in[0], cast(in[1], dtype), in.size() > 2 ? cast(in[2], dtype) : Tensor(),
                   transposed);
  };
  std::vector<Tensor> in{x, weight};
  if (bias.defined()) in.push_back(bias);
  return checkpoint(converted, in);
}

Projection::Projection(const Parts& parts, const ProjectionOptions& options) : options_(options) {
  const auto keep = [&](const std::string& name, const Shape& shape) {
    const Tensor taken = parts.take(name, shape);
    return parts.trained ? add_parameter(name, taken) : add_frozen(name, taken);
  };
  const auto [in, out, bias, transposed] = options;
  const Shape shape = transposed ? Shape{in, out} : Shape{out, in};
  if (parts.quantised) {
    Quantised& w = quantised_.emplace(parts.take_quantised("weight", shape, transposed));
    w.codes = add_frozen("codes", w.codes);
    w.scales = add_frozen("scales", w.scales);
    if (w.block_scales.defined()) w.block_scales = add_frozen("block_scales", w.block_scales);
    if (w.offset.defined()) w.offset = add_frozen("offset", w.offset);
  } else {
    weight_ = keep("weight", shape);
  }
  if (bias) bias_ = keep("bias", {out});
  if (!parts.lora || !parts.lora->adapts(parts.name())) return;
  lora_ = &add<Lora>("lora", in, out, *parts.lora, parts.init);
}

Tensor Projection::base(const Tensor& x) const {
  if (!quantised_) return base_product(x, weight_, bias_, options_.transposed);
  const Tensor y = quantised_linear(x, *quantised_);
  return bias_.defined() ? y + cast(bias_, y.dtype()) : y;
}

Tensor Projection::forward(const Tensor& x, const Mode& mode) const {
  const Tensor y = base(x);
  return lora_ ? y + (*lora_)(x, mode) : y;
}

Tensor Projection::merged() const {
  const auto in_layout = [&](const Tensor& w) { return options_.transposed ? transpose(w) : w; };
  const Tensor own = quantised_ ? in_layout(dequantise(*quantised_)) : weight_;
  if (!lora_) return own;
  const Tensor added = in_layout(lora_->matrix());
  return cast(cast(own, added.dtype()) + added, own.dtype());
}

}  // namespace plimsoll::nn
