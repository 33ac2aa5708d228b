#include "ops/group_norm/group_norm.h"

#include "core/apply.h"
#include "core/cuda_kernel.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"
#include "ops/group_norm/kernels.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(group_norm_cuda);
PLIMSOLL_CUDA_KERNEL(group_norm_grad_cuda);

using group_norm_detail::GroupNormAttrs, group_norm_detail::sizes_of;

group_norm_detail::Sizes group_norm_detail::sizes_of(const Shape& x, const Attrs& attrs) {
  Sizes sizes{x[0], 1, x.back(), attrs.as<GroupNormAttrs>().groups};
  for (int axis = 1; axis < x.rank() - 1; ++axis) sizes.positions *= x[axis];
  return sizes;
}

namespace {

// Inputs: x [N, ..., C], gamma [C], beta [C]. Outputs: y, and one mean and one inverse deviation
// for each group of each image.
Metas group_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& x = in[0].shape;
  const auto& [groups, eps] = attrs.as<GroupNormAttrs>();
  check<DTypeError>(is_floating(in[0].dtype), "group_norm: a floating type is needed: got ", in[0],
                    ". Cast it first.");
  const DType wide = in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  check<DTypeError>(in[1].dtype == wide && in[2].dtype == wide,
                    "group_norm: gamma and beta have the wrong type: got ", in[1].dtype, " and ",
                    in[2].dtype, " for ", in[0].dtype, " data. Give them in ", wide, ".");
  check<ShapeError>(x.rank() >= 2 && in[1].shape == Shape{x.back()} && in[2].shape == in[1].shape,
                    "group_norm: gamma and beta do not fit: ", in[1].shape, " and ", in[2].shape,
                    " for x ", x, ". Give x as [N, ..., C] and both as [C].");
  check<ValueError>(groups >= 1 && x.back() % groups == 0, "group_norm: ", groups,
                    " groups do not divide the channels: ", x, ". Choose a number that does.");
  check_eps("group_norm", eps);
  const Shape statistics{x[0], groups};
  return {in[0], {statistics, DType::f64, in[0].device}, {statistics, wide, in[0].device}};
}

void group_norm_cpu(const Call& call) {
  group_norm_detail::forward(call, sizes_of(call.in[0].shape(), call.attrs),
                             call.attrs.as<GroupNormAttrs>().eps);
}

int64_t group_norm_workspace(const Call& call) {
  const group_norm_detail::Sizes sizes = sizes_of(call.in[0].shape(), call.attrs);
  return call.in[0].device() == Device::cuda
             ? group_norm_detail::cuda_workspace(sizes)
             : group_norm_detail::workspace(sizes, call.in[0].dtype());
}

// Inputs: dy, x, gamma, mean, inverse deviation. Outputs: dx, dgamma, dbeta.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1], in[2], in[2]}; }

void grad_cpu(const Call& call) {
  group_norm_detail::backward(call, sizes_of(call.in[1].shape(), call.attrs));
}

constexpr OpDef grad_op{.name = "group_norm_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = group_norm_grad_cuda,
                        .inplace = 0,
                        .workspace = group_norm_workspace};

std::vector<Tensor> group_norm_vjp(const Backward& b) {
  return apply(grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1), b.output(2)},
               b.attrs<GroupNormAttrs>());
}

constexpr OpDef group_norm_op{.name = "group_norm",
                              .infer = group_norm_infer,
                              .cpu = group_norm_cpu,
                              .cuda = group_norm_cuda,
                              .vjp = group_norm_vjp,
                              .saves = {.inputs = bits(0, 1), .outputs = bits(1, 2)},
                              .inplace = 0,
                              .workspace = group_norm_workspace};

}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta,
                  double eps) {
  return apply(group_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)},
               GroupNormAttrs{groups, eps})[0];
}

Tensor instance_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  check_defined("instance_norm", gamma);
  return group_norm(x, std::max<int64_t>(1, gamma.count()), gamma, beta, eps);
}

extern const std::vector<const OpDef*> group_norm_ops;
const std::vector<const OpDef*> group_norm_ops{&group_norm_op, &grad_op};

}  // namespace plimsoll
