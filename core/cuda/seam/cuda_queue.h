// The second half of the seam (core/cuda/seam/cuda.h): what lets the host run ahead of the GPU.
//
//   const CudaGraph graph = cuda_queue().record([&] { relu_cuda(call); });   // nothing runs
//   cuda_queue().launch(graph);                                              // all of it, in order
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "core/cuda/seam/cuda.h"

namespace plimsoll {

// Kernels and copies with all their arguments, as the GPU runs them in one go. Empty: none. Not to
// be launched when what they read and write is gone.
using CudaGraph = std::shared_ptr<void>;

// A point in the queue.
using CudaMark = std::shared_ptr<void>;
// A value on its way to the host.
using CudaFetch = std::shared_ptr<void>;
constexpr int64_t kMostFetched = 64;  // bytes

// Images as bytes, in pinned memory or on the device.
struct CudaImages {
  const uint8_t* bytes;   // [N, H, W, C]
  const int32_t* blanks;  // [N, 4]: of each, rows top ... bottom - 1 and columns left ... right - 1
  int64_t count, height, width, channels;
  std::array<float, 3> mean, stddev;  // of each channel
};

struct CudaCounts {
  int64_t waits = 0;     // times that the host waited until the GPU had done all that was queued
  int64_t launches = 0;  // of graphs
};

struct CudaQueue {
  // What queue() puts on the stream. It may not wait, allocate, or copy from or to the host, and
  // what runs for the first time may have to: run it once before. DeviceError when it cannot be
  // recorded; whatever queue() throws.
  CudaGraph (*record)(const std::function<void()>& queue);
  void (*launch)(const CudaGraph& graph);
  // Copies what lies in pinned memory or on the device, and has to stay until a mark after it.
  void (*copy_direct)(void* to, const void* from, int64_t bytes);
  // to [N, H, W, C] = (byte / 255 - mean) / stddev, with the bits that a CPU computes, but 0 in the
  // blanks. What it reads has to stay there until a mark after it.
  void (*normalize)(const CudaImages& images, float* to);
  CudaMark (*mark)();                  // what is queued now
  void (*wait)(const CudaMark& mark);  // until the GPU has come so far
  // Copies what lies in pinned memory to the device as soon as the GPU has come to `after`, beside
  // all that is queued behind it. Both memories have to stay until the mark that is returned.
  CudaMark (*copy_beside)(void* to, const void* from, int64_t bytes, const CudaMark& after);
  void (*follow)(const CudaMark& mark);  // what is queued from now on runs after it
  // Begins to copy some bytes of the device. take() waits until they are there, whatever was queued
  // since, and throws the first error that a kernel met before them, once.
  CudaFetch (*fetch)(const void* from, int64_t bytes);
  void (*take)(const CudaFetch& fetch, void* to);
  CudaCounts (*counts)();  // since the process began
};

// DeviceError in a build without CUDA.
const CudaQueue& cuda_queue();

// The table itself, which core/cuda defines.
[[gnu::weak]] const CudaQueue& cuda_queue_backend();

}  // namespace plimsoll
