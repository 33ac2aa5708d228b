#include "core/cuda/images.h"

#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {
namespace {

// Reads the memory of the host by itself: it takes as long as a copy, and no memory of the device.
__global__ void normalize_kernel(CudaImages images, float* to, int64_t n) {
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    const int64_t channel = i % images.channels, pixel = i / images.channels;
    const int64_t column = pixel % images.width, row = pixel / images.width % images.height;
    const int32_t* const blank = images.blanks + pixel / images.width / images.height * 4;
    const bool inside =
        row >= blank[0] && row < blank[1] && column >= blank[2] && column < blank[3];
    const float value =
        (static_cast<float>(images.bytes[i]) / 255 - images.mean[channel]) / images.stddev[channel];
    to[i] = inside ? 0 : value;
  }
}

}  // namespace

void normalize(const CudaImages& images, float* to) {
  const int64_t n = images.count * images.height * images.width * images.channels;
  launch(normalize_kernel, blocks_for(n), kThreads, images, to, n);
}

}  // namespace plimsoll::cuda
