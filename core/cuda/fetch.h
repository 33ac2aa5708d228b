// Copies to the host that it does not wait for.
//
//   const CudaFetch loss = fetch(from, 4);         // queued
//   take(loss, &value);                            // waits for this, not for what came after it
#pragma once

#include "core/cuda/seam/cuda_queue.h"

namespace plimsoll::cuda {

// As the functions of CudaQueue.
CudaFetch fetch(const void* from, int64_t bytes);
void take(const CudaFetch& fetch, void* to);

}  // namespace plimsoll::cuda
