// Batches of images on their way to the device.
#pragma once

#include "core/cuda/seam/cuda_queue.h"

namespace plimsoll::cuda {

// As CudaQueue::normalize.
void normalize(const CudaImages& images, float* to);

}  // namespace plimsoll::cuda
