#include <cstring>

#include "core/base/convert.h"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/random/full/attrs.h"

namespace plimsoll {
namespace cuda {
namespace {

// Eight bytes by each thread, and by the last one what is left of them.
__global__ void fill_kernel(uint64_t* y, int64_t bytes, uint64_t pattern) {
  const int64_t words = bytes / 8;
  for (int64_t i = first_index(); i < words; i += total_threads()) y[i] = pattern;
  if (first_index() == 0)
    for (int64_t at = words * 8; at < bytes; ++at)
      reinterpret_cast<uint8_t*>(y)[at] = static_cast<uint8_t>(pattern >> at % 8 * 8);
}

}  // namespace
}  // namespace cuda

void full_cuda(const Call& call) {
  const double value = call.attrs.as<FullAttrs>().value;
  const View& y = call.out[0];
  visit_any(y.dtype(), [&]<class T>() {
    T elements[sizeof(uint64_t) / sizeof(T)];
    for (T& element : elements) element = convert<T>(value);
    uint64_t pattern;
    std::memcpy(&pattern, elements, sizeof pattern);
    const int64_t bytes = bytes_of(y.meta);
    cuda::launch(cuda::fill_kernel, cuda::blocks_for(bytes / 8), cuda::kThreads, y.as<uint64_t>(),
                 bytes, pattern);
  });
}

}  // namespace plimsoll
