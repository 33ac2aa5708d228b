#include "core/cuda/product.h"
#include "core/engine/op.h"

namespace plimsoll {

void linear_cuda(const Call& call) {
  const View &x = call.in[0], &w = call.in[1], &y = call.out[0];
  const int64_t outputs = w.shape()[0], inputs = w.shape()[1];
  cuda::product({.m = count(y.shape()) / outputs,
                 .n = outputs,
                 .k = inputs,
                 .a = {x.data, x.dtype(), inputs, 1},
                 .b = {w.data, w.dtype(), 1, inputs},
                 .c = {y.data, y.dtype(), outputs, 1},
                 .bias = call.in.size() == 3 ? &call.in[2] : nullptr},
                call.workspace);
}

}  // namespace plimsoll
