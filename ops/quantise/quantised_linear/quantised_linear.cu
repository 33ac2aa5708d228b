#include "core/cuda/product.h"
#include "ops/quantise/common/decode.cuh"
#include "ops/quantise/quantised_linear/attrs.h"

namespace plimsoll {
void quantised_linear_cuda(const Call& call) {
  const auto& [w, transposed] = call.attrs.as<QuantisedLinearAttrs>();
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = y.shape().back(), k = x.shape().back();
  const View whole{call.workspace.data(), {w.shape, x.dtype(), Device::cuda}, row_major(w.shape)};
  cuda::dequantise(call.in.subspan(1), w, whole);
  const int64_t across = w.shape[1];
  cuda::product(
      {.m = count(y.shape()) / n,
       .n = n,
       .k = k,
       .a = {x.data, x.dtype(), k, 1},
       .b = {whole.data, x.dtype(), transposed ? across : 1, transposed ? 1 : across},
       .c = {y.data, y.dtype(), n, 1}},
      call.workspace.subspan(static_cast<size_t>(whole_weight_bytes(w.shape, x.dtype()))));
}

}  // namespace plimsoll
