#include "core/cuda/launch.cuh"
#include "core/op.h"

namespace plimsoll {
namespace {

__global__ void increment_kernel(int64_t* counter, const bool* skip) {
  if (!skip || !*skip) ++*counter;
}

}  // namespace

void increment_cuda(const Call& call) {
  const bool* skip = call.in.size() > 1 ? call.in[1].as<bool>() : nullptr;
  cuda::launch(increment_kernel, 1, 1, call.in[0].as<int64_t>(), skip);
}

}  // namespace plimsoll
