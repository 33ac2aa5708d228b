#include "ops/batch_norm/batch_norm_relu.h"

#include <algorithm>

#include "core/apply.h"
#include "core/cuda_kernel.h"
#include "ops/batch_norm/kernels.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(batch_norm_relu_cuda);
PLIMSOLL_CUDA_KERNEL(batch_norm_relu_grad_cuda);

namespace batch_norm_detail {
namespace {

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  check_channels("batch_norm_relu", in.first(3));
  check_eps("batch_norm_relu", attrs.as<BatchNormAttrs>().eps);
  if (in.size() > 3) {
    check<ShapeError>(in[3].shape == in[0].shape,
                      "batch_norm_relu: the residual has another shape: ", in[3].shape, " beside ",
                      in[0].shape, ". Broadcast it first.");
    check<DTypeError>(in[3].dtype == in[0].dtype,
                      "batch_norm_relu: the residual has another type: ", in[3].dtype, " beside ",
                      in[0].dtype, ". Cast it first.");
  }
  return {in[0], in[1], in[1], in[1], in[1]};
}

void cpu(const Call& call) { forward_relu(call, call.attrs.as<BatchNormAttrs>().eps); }

Metas infer_grad(std::span<const Meta> in, const Attrs&) { return {in[0], in[3], in[3]}; }
Metas infer_add_grad(std::span<const Meta> in, const Attrs&) {
  return {in[0], in[0], in[3], in[3]};
}

std::vector<Tensor> vjp(const Backward& b) {
  const std::vector<Tensor> in{contiguous(b.grad()), b.output(0), b.input(0), b.input(1),
                               b.output(1),          b.output(3), b.output(4)};
  const bool residual = b.inputs() > 3 && b.needs(3);
  std::vector<Tensor> grads =
      plimsoll::apply(residual ? batch_norm_add_relu_grad_op : batch_norm_relu_grad_op, in);
  if (residual) std::rotate(grads.begin(), grads.begin() + 1, grads.end());  // it is the last input
  grads.resize(static_cast<size_t>(b.inputs()));
  return grads;
}

}  // namespace

// Only y is ever differentiated: the public function takes the statistics off the tape.
constinit const OpDef batch_norm_relu_op{
    .name = "batch_norm_relu",
    .infer = infer,
    .cpu = cpu,
    .cuda = batch_norm_relu_cuda,
    .vjp = vjp,
    .saves = {.inputs = bits(0, 1), .outputs = bits(0, 1, 3, 4)},
    .workspace = forward_relu_workspace};

constinit const OpDef batch_norm_relu_grad_op{.name = "batch_norm_relu_grad",
                                              .infer = infer_grad,
                                              .cpu = backward_relu,
                                              .cuda = batch_norm_relu_grad_cuda,
                                              .inplace = 0,
                                              .workspace = workspace};

constinit const OpDef batch_norm_add_relu_grad_op{.name = "batch_norm_add_relu_grad",
                                                  .infer = infer_add_grad,
                                                  .cpu = backward_relu,
                                                  .cuda = batch_norm_relu_grad_cuda,
                                                  .inplace = 0,
                                                  .workspace = workspace};

}  // namespace batch_norm_detail

BatchNormResult batch_norm_relu(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                const Tensor& residual, double eps) {
  using namespace batch_norm_detail;
  std::vector<Tensor> in{contiguous(x), contiguous(gamma), contiguous(beta)};
  if (residual.defined()) in.push_back(contiguous(residual));
  const std::vector<Tensor> out = apply(batch_norm_relu_op, in, BatchNormAttrs{eps});
  return {out[0], out[1].detach(), out[2].detach()};
}

}  // namespace plimsoll
