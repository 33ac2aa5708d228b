#include "core/cuda/copy.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/pointwise/copy/convert.cuh"

namespace plimsoll {
namespace cuda {
namespace {

template <class C>
__global__ void cast_kernel(Elements<C> x, std::byte* y, DType to, int64_t n, bool packs) {
  const int64_t stride = packs ? kTogether : 1;
  for (int64_t i = first_index() * stride; i < n; i += total_threads() * stride)
    visit_any(to, [&]<class T>() {
      T* element = reinterpret_cast<T*>(y) + i;
      if (packs) {
        const auto from = x.get_several(i);
        Pack<T, kTogether> pack;
        for (int j = 0; j < kTogether; ++j) pack.at[j] = converted<T>(from.at[j]);
        *reinterpret_cast<Pack<T, kTogether>*>(element) = pack;
      } else {
        *element = converted<T>(x.get(i));
      }
    });
}

}  // namespace
}  // namespace cuda

void copy_cuda(const Call& call) { cuda::copy_strided(call.in[0], call.out[0]); }

void cast_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  const bool packs = cuda::in_packs(x, n) && cuda::in_packs(y, n);
  cuda::visit_elements(x.dtype(), [&]<class C>() {
    cuda::launch(cuda::cast_kernel<C>, cuda::blocks_for(packs ? n / cuda::kTogether : n),
                 cuda::kThreads, cuda::elements<C>(x), y.as<std::byte>(), y.dtype(), n, packs);
  });
}

}  // namespace plimsoll
