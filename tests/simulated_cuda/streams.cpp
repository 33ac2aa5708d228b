#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace simulated {

using Work = std::function<void()>;

struct Graph {
  std::vector<Work> nodes;
};

struct Stream {
  std::deque<Work> waiting;
  Graph* recorded = nullptr;
  bool invalid = false;  // what is recorded
};

namespace {

std::recursive_mutex mutex;  // guards all streams, and runs one kernel at a time
std::set<Stream*> streams;
thread_local Stream* recording = nullptr;

// What must not be called by a thread that records.
bool forbidden() {
  if (recording) recording->invalid = true;
  return recording;
}

void run_all(Stream& stream) {
  const std::lock_guard lock(mutex);
  while (!stream.waiting.empty()) {
    const Work work = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    work();
  }
}

void run_all() {
  const std::lock_guard lock(mutex);
  for (Stream* stream : streams) run_all(*stream);
}

}  // namespace

cudaError_t queue(cudaStream_t stream, Work work) {
  const std::lock_guard lock(mutex);
  if (stream->recorded)
    stream->recorded->nodes.push_back(std::move(work));
  else
    stream->waiting.push_back(std::move(work));
  return cudaSuccess;
}

}  // namespace simulated

using namespace simulated;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(mutex);
  streams.insert(*stream = new Stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  run_all(*stream);
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (forbidden()) return cudaErrorStreamCaptureUnsupported;
  run_all(*stream);
  return cudaSuccess;
}

// On a boundary of 256 bytes, as the real one.
cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (forbidden()) return cudaErrorStreamCaptureUnsupported;
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* data) {
  if (forbidden()) return cudaErrorStreamCaptureUnsupported;
  run_all();
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 34;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) { return cudaMalloc(data, bytes); }

cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }

// To and from the host it is done at the end, as where that memory is not pinned.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind != cudaMemcpyDeviceToDevice && forbidden()) return cudaErrorStreamCaptureUnsupported;
  queue(stream, [=] { std::memmove(to, from, bytes); });
  if (kind != cudaMemcpyDeviceToDevice) run_all(*stream);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  return queue(stream, [=] { std::memset(data, value, bytes); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (recording) return cudaErrorStreamCaptureUnsupported;
  recording = stream;
  stream->recorded = new Graph;
  stream->invalid = false;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  recording = nullptr;
  *graph = std::exchange(stream->recorded, nullptr);
  if (!stream->invalid) return cudaSuccess;
  delete std::exchange(*graph, nullptr);
  return cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned) {
  if (recording) return cudaErrorStreamCaptureUnsupported;
  *executable = new Graph(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const Work& node : executable->nodes) queue(stream, node);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
