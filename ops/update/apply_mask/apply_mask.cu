#include "core/cuda/copy.h"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"

namespace plimsoll {
namespace {

// What the mask keeps is not touched.
template <class T>
__global__ void apply_mask_kernel(T* x, const bool* mask, int64_t n) {
  for (int64_t i = cuda::first_index(); i < n; i += cuda::total_threads())
    if (!mask[i]) x[i] = T(0);
}

}  // namespace

// The bits of +0 are zeros in every type, so only its width matters.
void apply_mask_cuda(const Call& call) {
  const View &x = call.in[0], &mask = call.in[1];
  const int64_t n = count(x.shape());
  visit_width(size_of(x.dtype()), [&]<class T>() {
    cuda::launch(apply_mask_kernel<T>, cuda::blocks_for(n), cuda::kThreads, x.as<T>(),
                 mask.as<bool>(), n);
  });
}

}  // namespace plimsoll
