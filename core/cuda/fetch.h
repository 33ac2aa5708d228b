// Copies between the host and the device that the host does not wait for.
//
//   copy_in(to, values, bytes);                    // `values` may change as soon as it returns
//   const CudaFetch loss = fetch(from, 4);         // queued
//   take(loss, &value);                            // waits for this, not for what came after it
#pragma once

#include "core/cuda/seam/cuda_queue.h"

namespace plimsoll::cuda {

// Through pinned memory, as CUDA does not promise when it reads what is not pinned. Waits for the
// stream where more than 64 MiB are on their way, or nothing more can be pinned.
void copy_in(void* to, const void* from, int64_t bytes);

// As the functions of CudaQueue.
CudaFetch fetch(const void* from, int64_t bytes);
void take(const CudaFetch& fetch, void* to);

}  // namespace plimsoll::cuda
