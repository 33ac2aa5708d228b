#include "core/cuda/copy.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/pointwise/copy/convert.cuh"

namespace plimsoll {
namespace cuda {
namespace {

template <class C>
__global__ void cast_kernel(Elements<C> x, std::byte* y, DType to, int64_t n) {
  for (int64_t i = first_index() * kPack; i < n; i += total_threads() * kPack) {
    C values[kPack];
    x.get(i, n, values);
    visit_any(to, [&]<class T>() {
      Pack<T> pack;
      for (int j = 0; j < kPack; ++j) pack.of[j] = converted<T>(values[j]);
      write_pack(pack, reinterpret_cast<T*>(y), i, n);
    });
  }
}

}  // namespace
}  // namespace cuda

void copy_cuda(const Call& call) { cuda::copy_strided(call.in[0], call.out[0]); }

void cast_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  cuda::visit_elements(x.dtype(), [&]<class C>() {
    cuda::launch(cuda::cast_kernel<C>, cuda::blocks_for(cuda::packs_in(n)), cuda::kThreads,
                 cuda::elements<C>(x), y.as<std::byte>(), y.dtype(), n);
  });
}

}  // namespace plimsoll
