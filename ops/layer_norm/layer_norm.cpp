#include "ops/layer_norm/layer_norm.h"

#include "core/apply.h"
#include "core/cuda_kernel.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"
#include "ops/layer_norm/kernels.h"
#include "ops/row_norm_grad.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(layer_norm_cuda);
PLIMSOLL_CUDA_KERNEL(layer_norm_grad_cuda);

namespace {

using layer_norm_detail::LayerNormAttrs;

// Inputs: x [..., D], gamma [D], beta [D]. Outputs: y, and one mean and one inverse deviation a
// row.
Metas layer_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& x = in[0].shape;
  check<DTypeError>(is_floating(in[0].dtype), "layer_norm: a floating type is needed: got ", in[0],
                    ". Cast it first.");
  const DType wide = in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  check<DTypeError>(in[1].dtype == wide && in[2].dtype == wide,
                    "layer_norm: gamma and beta have the wrong type: got ", in[1].dtype, " and ",
                    in[2].dtype, " for ", in[0].dtype, " data. Give them in ", wide, ".");
  check<ShapeError>(x.rank() >= 1 && in[1].shape == Shape{x.back()} && in[2].shape == in[1].shape,
                    "layer_norm: gamma and beta do not fit: ", in[1].shape, " and ", in[2].shape,
                    " for x ", x, ". Give both the size of the last axis.");
  check_eps("layer_norm", attrs.as<LayerNormAttrs>().eps);
  const Shape rows(std::span(x.begin(), static_cast<size_t>(x.rank() - 1)));
  return {in[0], {rows, DType::f64, in[0].device}, {rows, wide, in[0].device}};
}

void layer_norm_cpu(const Call& call) {
  layer_norm_detail::forward(call, call.attrs.as<LayerNormAttrs>().eps);
}

// Inputs: dy, x, gamma, mean, inverse deviation. Outputs: dx, dgamma, dbeta.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1], in[2], in[2]}; }

void grad_cpu(const Call& call) { layer_norm_detail::backward(call); }

int64_t grad_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda)
    return cuda::row_norm_grad_bytes(count(call.in[3].shape()), call.in[2].shape()[0], 2);
  return layer_norm_detail::backward_workspace(call.in[1].meta, call.in[2].meta);
}

constexpr OpDef grad_op{.name = "layer_norm_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = layer_norm_grad_cuda,
                        .inplace = 0,
                        .workspace = grad_workspace};

std::vector<Tensor> layer_norm_vjp(const Backward& b) {
  return apply(grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1), b.output(2)});
}

constexpr OpDef layer_norm_op{.name = "layer_norm",
                              .infer = layer_norm_infer,
                              .cpu = layer_norm_cpu,
                              .cuda = layer_norm_cuda,
                              .vjp = layer_norm_vjp,
                              .saves = {.inputs = bits(0, 1), .outputs = bits(1, 2)},
                              .inplace = 0};

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  return apply(layer_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)},
               LayerNormAttrs{eps})[0];
}

extern const std::vector<const OpDef*> layer_norm_ops;
const std::vector<const OpDef*> layer_norm_ops{&layer_norm_op, &grad_op};

}  // namespace plimsoll
