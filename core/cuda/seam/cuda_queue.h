// The second half of the seam (core/cuda/seam/cuda.h): what lets the host run ahead of the GPU.
//
//   const CudaGraph graph = cuda_queue().record([&] { relu_cuda(call); });   // nothing runs
//   cuda_queue().launch(graph);                                              // all of it, in order
#pragma once

#include <functional>
#include <memory>

#include "core/cuda/seam/cuda.h"

namespace plimsoll {

// Kernels and copies with all their arguments, as the GPU runs them in one go. Empty: none. Not to
// be launched when what they read and write is gone.
using CudaGraph = std::shared_ptr<void>;

// A value on its way to the host.
using CudaFetch = std::shared_ptr<void>;
constexpr int64_t kMostFetched = 64;  // bytes

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
