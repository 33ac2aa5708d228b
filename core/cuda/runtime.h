// The CUDA runtime as this engine uses it: one device, one stream for all kernels, errors that name
// the call.
//
//   check_cuda(cudaMemsetAsync(data, 0, bytes, stream()), "cudaMemsetAsync");
#pragma once

#include <cuda_runtime.h>

#include "core/cuda/seam/cuda.h"

namespace plimsoll::cuda {

// DeviceError: `cuda: CALL failed: what the runtime says. ...`
void check_cuda(cudaError_t status, const char* call);

// The stream of all kernels and copies. The first call opens the device: DeviceError as cuda_api().
cudaStream_t stream();
// From now on another one for this thread; nullptr: the stream of all again.
void divert(cudaStream_t other);

// Until all that was queued is done; faults are not looked at.
void wait();
// How often the host has done so, here and where the runtime does it by itself.
int64_t waits();

// ShapeError when there are more blocks than a grid holds.
dim3 grid_of(int64_t blocks);

}  // namespace plimsoll::cuda
