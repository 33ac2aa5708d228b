// Launching kernels; what a block of threads does together is in block.cuh.
//
//   __global__ void scale_kernel(float* x, int64_t n, float by) {
//     for (int64_t i = first_index(); i < n; i += total_threads()) x[i] *= by;
//   }
//   launch(scale_kernel, blocks_for(n), kThreads, x, n, by);
//
// Kernels are queued on stream().
#pragma once

#include <algorithm>

#include "core/cuda/block.cuh"
#include "core/cuda/runtime.h"

namespace plimsoll::cuda {

constexpr int kThreads = 256;  // of a block, where nothing speaks for another number

// Blocks for n pieces of work, one for each thread or more: as many as keep every multiprocessor of
// a large GPU busy, not more.
constexpr int64_t kMostBlocks = 132 * 16;
inline int64_t blocks_for(int64_t n, int threads = kThreads) {
  return std::clamp<int64_t>((n + threads - 1) / threads, 1, kMostBlocks);
}

// Threads of a block that has a row of n elements to itself: whole warps.
inline int row_threads(int64_t n) {
  const int64_t warps = (n + kWarp - 1) / kWarp;
  return kWarp * static_cast<int>(std::clamp<int64_t>(warps, 1, kThreads / kWarp));
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, Arguments... arguments) {
  const dim3 grid = grid_of(blocks);
#ifdef PLIMSOLL_SIMULATED_CUDA
  const auto run = [=] {
    simulated::run(grid, dim3(static_cast<unsigned>(threads)),
                   [&] { kernel(static_cast<Parameters>(arguments)...); });
  };
  check_cuda(simulated::queue(stream(), run), "a kernel launch");
#else
  kernel<<<grid, static_cast<unsigned>(threads), 0, stream()>>>(
      static_cast<Parameters>(arguments)...);
  check_cuda(cudaGetLastError(), "a kernel launch");
#endif
}

__device__ inline int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t total_threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace plimsoll::cuda
