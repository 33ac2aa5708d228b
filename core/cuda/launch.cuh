// Launching kernels, and what a block of threads does together.
//
//   __global__ void scale_kernel(float* x, int64_t n, float by) {
//     for (int64_t i = first_index(); i < n; i += total_threads()) x[i] *= by;
//   }
//   launch(scale_kernel, blocks_for(n), kThreads, x, n, by);
//
// Kernels are queued on stream(). Sums over a block are made in an order that depends on nothing
// but its size, so that results are the same in every run.
#pragma once

#include <algorithm>

#include "core/cuda/runtime.h"

namespace plimsoll::cuda {

constexpr int kThreads = 256;  // of a block, where nothing speaks for another number
constexpr int kWarp = 32;

// Blocks for n pieces of work, one for each thread or more: as many as keep every multiprocessor of
// a large GPU busy, not more.
constexpr int64_t kMostBlocks = 132 * 16;
inline int64_t blocks_for(int64_t n, int threads = kThreads) {
  return std::clamp<int64_t>((n + threads - 1) / threads, 1, kMostBlocks);
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

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
// NaN wins, as in every maximum of the engine.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

// `join` over the 32 values of a warp; every lane gets the result.
template <class T, class Join>
__device__ T over_warp(T value, Join join) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

// The same over a block of whole warps; every thread gets the result. All threads must call it.
template <class T, class Join>
__device__ T over_block(T value, Join join) {
  __shared__ T of_warp[kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = over_warp(value, join);
  __syncthreads();  // whoever still reads the result of the call before
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  T total = of_warp[0];
  for (int w = 1; w < warps; ++w) total = join(total, of_warp[w]);
  return total;
}

}  // namespace plimsoll::cuda
