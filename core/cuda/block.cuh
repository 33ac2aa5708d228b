// What the threads of a block do together.
//
//   const float total = over_block(mine, Plus());   // every thread of the block calls it
//
// Sums over a block are made in an order that depends on nothing but its size, so that results are
// the same in every run.
#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

constexpr int kWarp = 32;

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
