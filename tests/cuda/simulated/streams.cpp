#include <atomic>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "living.h"

namespace simulated {

using Work = std::function<void()>;

struct Graph {
  std::vector<Work> nodes;
};

struct Stream {
  std::deque<Work> waiting;
  std::atomic<uint64_t> done = 0;
  Graph* recorded = nullptr;
  bool invalid = false;  // what is recorded
};

struct Event {
  Stream* stream = nullptr;  // nullptr: never recorded
  uint64_t position = 0;     // how much was done when everything before it was
};

namespace {

std::recursive_mutex mutex;            // guards all streams, and runs one kernel at a time
std::set<Stream*> streams;             // for good
std::map<const char*, size_t> pinned;  // bytes of each block
std::atomic<int> stream_count = 0, event_count = 0;
thread_local Stream* recording = nullptr;

// What must not be called by a thread that records.
bool forbidden() {
  if (recording) recording->invalid = true;
  return recording;
}

// What it runs may wait for another stream, and that for what was done on this one before.
void run_until(Stream& stream, uint64_t position) {
  const std::lock_guard lock(mutex);
  while (!stream.waiting.empty() && stream.done < position) {
    const Work work = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    work();
    ++stream.done;
  }
}

void run_all(Stream& stream) { run_until(stream, UINT64_MAX); }

bool is_pinned(const void* data) {
  const std::lock_guard lock(mutex);
  const auto at = static_cast<const char*>(data);
  const auto above = pinned.upper_bound(at);
  return above != pinned.begin() && at < std::prev(above)->first + std::prev(above)->second;
}

void run_all() {
  const std::lock_guard lock(mutex);
  for (Stream* stream : streams) run_all(*stream);
}

}  // namespace

int living_streams() { return stream_count; }
int living_events() { return event_count; }

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
  ++stream_count;
  return cudaSuccess;
}

// What is on it is still done, and waited for by others.
cudaError_t cudaStreamDestroy(cudaStream_t) {
  --stream_count;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (forbidden()) return cudaErrorStreamCaptureUnsupported;
  run_all(*stream);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new Event;
  ++event_count;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --event_count;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (stream->recorded) return forbidden(), cudaErrorStreamCaptureUnsupported;
  *event = {stream, stream->done + stream->waiting.size()};
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (forbidden()) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(mutex);
  if (event->stream) run_until(*event->stream, event->position);
  return cudaSuccess;
}

// Also while a kernel runs that waits for another process.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const bool waiting = event->stream && event->stream->done < event->position;
  return waiting ? cudaErrorNotReady : cudaSuccess;
}

// As it was recorded last: later records do not count.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (!event->stream) return cudaSuccess;
  return queue(stream, [before = event->stream, position = event->position] {
    run_until(*before, position);
  });
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

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  const cudaError_t status = cudaMalloc(data, bytes);
  const std::lock_guard lock(mutex);
  if (status == cudaSuccess) pinned[static_cast<const char*>(*data)] = bytes;
  return status;
}

// What is not pinned is written before this returns, and read only when the stream comes to it:
// CUDA promises no more.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const bool in = kind == cudaMemcpyHostToDevice, out = kind == cudaMemcpyDeviceToHost;
  if ((in || out) && forbidden()) return cudaErrorStreamCaptureUnsupported;
  const cudaError_t status = queue(stream, [=] { std::memmove(to, from, bytes); });
  if (out && !is_pinned(to)) run_all(*stream);
  return status;
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
