#include "core/cuda/copy.h"
#include "core/cuda/runtime.h"
#include "core/engine/op.h"
#include "ops/shape/view/attrs.h"

namespace plimsoll {

void slice_grad_cuda(const Call& call) {
  const auto& [axis, start, stop, step] = call.attrs.as<SliceGradAttrs>().slice;
  const View& out = call.out[0];
  cuda::check_cuda(
      cudaMemsetAsync(out.data, 0, static_cast<size_t>(bytes_of(out.meta)), cuda::stream()),
      "cudaMemsetAsync");
  const int64_t offset = start * out.strides[axis] * size_of(out.dtype());
  View window{out.as<std::byte>() + offset, call.in[0].meta, out.strides};
  window.strides[axis] *= step;
  cuda::copy_strided(call.in[0], window);
}

}  // namespace plimsoll
