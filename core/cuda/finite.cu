#include "core/cuda/finite.h"

#include <mutex>

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {
namespace {

template <class C>
__global__ void find_nonfinite(Elements<C> x, int64_t n, unsigned* found) {
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    const C v = x.get(i);
    if (!(v - v == 0)) *found = 1;  // whoever writes, it is the same
  }
}

}  // namespace

bool all_finite(const View& view) {
  const int64_t n = count(view.shape());
  if (!is_floating(view.dtype()) || n == 0) return true;
  static std::mutex mutex;  // there is one word for the answer
  const std::lock_guard lock(mutex);
  static unsigned* const found = [] {
    stream();  // selects the device for this thread
    void* word = nullptr;
    check_cuda(cudaMalloc(&word, sizeof(unsigned)), "cudaMalloc");
    return static_cast<unsigned*>(word);
  }();
  check_cuda(cudaMemsetAsync(found, 0, sizeof(unsigned), stream()), "cudaMemsetAsync");
  visit_floating_elements(view.dtype(), [&]<class C>() {
    launch(find_nonfinite<C>, blocks_for(n), kThreads, elements<C>(view), n, found);
  });
  unsigned answer = 0;
  cuda_api().copy(&answer, found, sizeof answer, CudaCopy::out);
  return answer == 0;
}

bool has_code_for_device() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, find_nonfinite<float>);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();
    return false;
  }
  check_cuda(status, "cudaFuncGetAttributes");
  return true;
}

}  // namespace plimsoll::cuda
