#include "core/cuda/product.h"
#include "core/engine/op.h"

namespace plimsoll {
namespace {

cuda::Matrices matrices(const View& x, const Shape& batch) {
  const int r = x.shape().rank();
  View stack = x;  // what lies in front of the matrices
  stack.meta.shape = Shape(std::span(x.shape().begin(), r - 2));
  return {x.data, x.dtype(), x.strides[r - 2], x.strides[r - 1], broadcast_strides(stack, batch)};
}

}  // namespace

void matmul_cuda(const Call& call) {
  const View &a = call.in[0], &c = call.out[0];
  const int r = c.shape().rank();
  const Shape batch(std::span(c.shape().begin(), r - 2));
  cuda::product({.batch = batch,
                 .m = c.shape()[r - 2],
                 .n = c.shape()[r - 1],
                 .k = a.shape().back(),
                 .a = matrices(a, batch),
                 .b = matrices(call.in[1], batch),
                 .c = {c.data, c.dtype(), c.shape()[r - 1], 1}},
                call.workspace);
}

}  // namespace plimsoll
