#include "ops/matmul/linear/linear.h"

#include "core/cpu/gemm/gemm16.h"
#include "core/cuda/product.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/smaller_first.h"
#include "ops/matmul/matmul/matmul.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(linear_cuda);

namespace {

// Inputs: x [..., I], w [O, I] and perhaps bias [O].
Metas linear_infer(std::span<const Meta> in, const Attrs&) {
  const Shape &x = in[0].shape, &w = in[1].shape;
  for (const Meta& meta : in)
    check<DTypeError>(meta.dtype == in[0].dtype && is_floating(meta.dtype),
                      "linear: tensors of one floating type are needed: got ", in[0].dtype, " and ",
                      meta.dtype, ". Cast one of them.");
  check<ShapeError>(w.rank() == 2, "linear: the weight is not a matrix: ", w,
                    ". Give it the shape [outputs, inputs].");
  check<ShapeError>(x.rank() >= 1 && x.back() == w[1], "linear: the inner sizes differ: x ", x,
                    " and w ", w, ". The last axis of x must equal the last axis of w.");
  check<ShapeError>(in.size() == 2 || in[2].shape == Shape{w[0]},
                    "linear: the bias does not fit: ", in.back().shape, " for w ", w,
                    ". Give it the shape [", w[0], "].");
  Shape out = x;
  out[x.rank() - 1] = w[0];
  return {{out, in[0].dtype, in[0].device}};
}

// The leading axes taken together.
int64_t rows_of(const Shape& shape) {
  int64_t rows = 1;
  for (int axis = 0; axis < shape.rank() - 1; ++axis) rows *= shape[axis];
  return rows;
}

int64_t linear_workspace(const Call& call) {
  const Shape& w = call.in[1].shape();
  if (call.in[0].device() == Device::cuda)
    return cuda::product_bytes(call.in[0].dtype(), 1, rows_of(call.in[0].shape()), w[0], w[1],
                               /*pads_a=*/false);
  const int64_t rows = rows_of(call.in[0].shape());
  return rows == 1 ? 0 : gemm_16_bit_bytes(call.in[0].dtype(), rows, w[0], w[1]);  // gemv()
}

void linear_cpu(const Call& call) {
  const View &x = call.in[0], &w = call.in[1];
  const View bias = call.in.size() == 3 ? call.in[2] : View();
  const int64_t inputs = w.shape()[1];
  visit_floating("linear", x.dtype(), [&]<class T>() {
    multiply<T>(rows_of(x.shape()), w.shape()[0], inputs, {x.as<T>(), inputs, 1},
                {w.as<T>(), 1, inputs}, bias.as<T>(), call.out[0].as<T>(), call.workspace.data());
  });
}

std::vector<Tensor> linear_vjp(const Backward& b) {
  const Shape &x = b.input_meta(0).shape, &w = b.input_meta(1).shape;
  const int64_t rows = rows_of(x);
  const Tensor dy = reshape(b.grad(), {rows, w[0]});
  Tensor dx, dw, db;
  const auto make_dx = [&] { dx = reshape(matmul(dy, b.input(1)), x); };
  const auto make_dw = [&] { dw = matmul(transpose(dy), reshape(b.input(0), {rows, w[1]})); };
  smaller_first(b, make_dx, make_dw);
  if (b.inputs() == 2) return {dx, dw};
  if (b.needs(2)) db = sum(dy, {0});
  return {dx, dw, db};
}

double linear_flops(std::span<const Meta> in, std::span<const Meta> out, const Attrs&) {
  return 2.0 * static_cast<double>(count(out[0].shape)) * static_cast<double>(in[1].shape.back());
}

}  // namespace

constexpr OpDef linear_op{.name = "linear",
                          .infer = linear_infer,
                          .cpu = linear_cpu,
                          .cuda = linear_cuda,
                          .vjp = {.rule = linear_vjp, .inputs = bits(0, 1)},
                          .workspace = linear_workspace,
                          .cast = CastRule::low,
                          .flops = linear_flops};

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (!bias.defined()) return apply1(linear_op, {contiguous(x), contiguous(w)});
  return apply1(linear_op, {contiguous(x), contiguous(w), contiguous(bias)});
}

extern const std::vector<const OpDef*> linear_ops{&linear_op};

}  // namespace plimsoll
