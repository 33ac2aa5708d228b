// The part of the CUDA runtime that this engine uses, on the CPU: kernels run thread by thread, in
// an order that changes from launch to launch, and "device" memory is memory of the host. With this
// folder first among the include paths every .cu file compiles as plain C++, and what it computes
// can be tested, with sanitizers too, on a machine that has no GPU.
//
// What is queued on a stream runs when somebody waits for it, so that whoever reads too early reads
// something else than on a good day. A stream can be recorded as a graph; what the real runtime
// forbids meanwhile is refused.
//
// What it cannot show: speed, what the hardware reorders between barriers, and the vendor's
// libraries. A barrier that only some threads reach ends the program.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "simulate.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  explicit dim3(unsigned nx, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz) {}
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace simulated {

// Calls body() as every thread of every block, one block after another.
template <class Body>
void run(dim3 grid, dim3 block, const Body& body) {
  gridDim = grid;
  blockDim = block;
  for (unsigned b = 0; b < grid.x; ++b) {
    blockIdx = dim3(b);
    run_block(
        static_cast<int>(block.x), [](void* f) { (*static_cast<const Body*>(f))(); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }
}

// What lane `from` of this warp holds. All lanes call it at the same time.
template <class T>
T from_lane(T value, int from) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(bits, from);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace simulated

inline void __syncthreads() { simulated::wait_for_block(); }

// A product that is rounded by itself, whatever is added to it.
inline float __fmul_rn(float a, float b) {
  float product = a * b;
  asm("" : "+m"(product));
  return product;
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return simulated::from_lane(value, simulated::lane() ^ mask);
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return simulated::from_lane(value, lane % 32);
}
template <class T>
T atomicMin(T* address, T value) {
  const T before = *address;
  if (value < before) *address = value;
  return before;
}
// The host's side.
enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorInsufficientDriver,
  cudaErrorNoDevice,
  cudaErrorNotReady,
  cudaErrorInvalidDeviceFunction,
  cudaErrorNoKernelImageForDevice,
  cudaErrorStreamCaptureUnsupported,
  cudaErrorStreamCaptureInvalidated
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
using cudaStream_t = struct simulated::Stream*;
using cudaEvent_t = struct simulated::Event*;
using cudaGraph_t = struct simulated::Graph*;
using cudaGraphExec_t = struct simulated::Graph*;
struct cudaDeviceProp {
  char name[256];
  int major, minor;
};
struct cudaFuncAttributes {};
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

inline cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
inline cudaError_t cudaDriverGetVersion(int* v) { return *v = 13000, cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int* v) { return *v = 13000, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {"a simulated GPU", 9, 0};
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t status) {
  return status < cudaErrorStreamCaptureUnsupported ? "simulated"
                                                    : "operation not permitted when recording";
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Kernel) {
  return cudaSuccess;
}

// tests/cuda/simulated/streams.cpp
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaMalloc(void** data, size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

namespace simulated {

// A kernel or a copy behind what is on the stream, or into the graph that it is recorded in.
cudaError_t queue(cudaStream_t stream, std::function<void()> work);

}  // namespace simulated
