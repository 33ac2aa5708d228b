#include <atomic>

#include "core/cuda/fetch.h"
#include "core/cuda/runtime.h"
#include "core/cuda/seam/cuda_queue.h"

namespace plimsoll::cuda {
namespace {

std::atomic<int64_t> launches;

void check_or_clear(cudaError_t status, const char* call) {
  if (status != cudaSuccess) cudaGetLastError();  // else the next launch would report it
  check_cuda(status, call);
}

// On a stream of its own, so that what other threads queue meanwhile is not recorded but runs.
class Recording {
 public:
  Recording() {
    stream();  // opens the device
    // Each thread keeps its own: the libraries' handles still name it when the recording is over.
    thread_local cudaStream_t kept = nullptr;
    if (!kept)
      check_or_clear(cudaStreamCreateWithFlags(&kept, cudaStreamNonBlocking),
                     "cudaStreamCreateWithFlags");
    stream_ = kept;
    divert(stream_);
  }
  ~Recording() {
    divert(nullptr);
    if (cudaGraph_t left = nullptr;
        recording_ && cudaStreamEndCapture(stream_, &left) == cudaSuccess)
      cudaGraphDestroy(left);
    if (graph_) cudaGraphDestroy(graph_);
    cudaGetLastError();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  cudaGraph_t record(const std::function<void()>& queue) {
    // Of this thread: others may wait and allocate.
    check_or_clear(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                   "cudaStreamBeginCapture");
    recording_ = true;
    queue();
    recording_ = false;
    check_or_clear(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
    return graph_;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  bool recording_ = false;
};

CudaGraph record(const std::function<void()>& queue) {
  Recording recording;
  cudaGraphExec_t executable = nullptr;
  check_or_clear(cudaGraphInstantiate(&executable, recording.record(queue), 0),
                 "cudaGraphInstantiate");
  return {executable, [](void* graph) {
            try {
              wait();                       // it may still run
            } catch (const DeviceError&) {  // at the end of a process the driver may have gone
            }
            cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
          }};
}

void launch(const CudaGraph& graph) {
  check_or_clear(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.get()), stream()),
                 "cudaGraphLaunch");
  ++launches;
}

CudaCounts counts() { return {.waits = waits(), .launches = launches}; }

}  // namespace
}  // namespace plimsoll::cuda

namespace plimsoll {

const CudaQueue& cuda_queue_backend() {
  static constexpr CudaQueue queue{.record = cuda::record,
                                   .launch = cuda::launch,
                                   .fetch = cuda::fetch,
                                   .take = cuda::take,
                                   .counts = cuda::counts};
  return queue;
}

}  // namespace plimsoll
