#include "core/cuda/fetch.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/cuda/faults.h"
#include "core/cuda/runtime.h"

namespace plimsoll::cuda {
namespace {

cudaEvent_t new_event() {
  stream();  // opens the device
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return event;
}

void record(cudaEvent_t event) { check_cuda(cudaEventRecord(event, stream()), "cudaEventRecord"); }

void wait_for(cudaEvent_t event) {
  check_cuda(cudaEventSynchronize(event), "cudaEventSynchronize");
}

// Pinned memory of the host; nullptr where there is no more of it.
std::byte* pinned(int64_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaHostAlloc(&data, static_cast<size_t>(bytes), 0);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // takes the error back: the next call is a new one
    return nullptr;
  }
  check_cuda(status, "cudaHostAlloc");
  return static_cast<std::byte*>(data);
}

// What a fetch writes to, in pinned memory. It is handed out again although a copy may still be on
// its way: the next one comes behind it.
struct Slot {
  std::byte* values;
  uint64_t* faults;
  cudaEvent_t copied;
};
struct Fetch {
  Slot slot;
  int64_t bytes;
  CopiedFaults faults;
};
std::mutex mutex;
std::vector<Slot> free_slots;

Slot take_slot() {
  const std::lock_guard lock(mutex);
  if (free_slots.empty()) {
    constexpr int64_t bytes = kMostFetched + kMostFaults * int64_t{sizeof(uint64_t)};
    std::byte* const values = pinned(bytes);
    check<OutOfMemory>(values != nullptr,
                       "cuda: no more memory of the host can be pinned: asked for ", bytes,
                       " bytes. Free some of it.");
    return {values, reinterpret_cast<uint64_t*>(values + kMostFetched), new_event()};
  }
  const Slot slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

// Pinned memory that values of the host pass through: to be filled again when its copy is done.
struct Staging {
  std::byte* data;
  int64_t bytes;
  cudaEvent_t copied;
};
std::vector<Staging> staged;  // the smallest first
int64_t staged_bytes = 0;
constexpr int64_t kMostStaged = int64_t{64} << 20;

// Nothing where all of it is on its way, and no more may be pinned.
Staging* free_staging(int64_t bytes) {
  for (Staging& staging : staged)
    if (staging.bytes >= bytes && cudaEventQuery(staging.copied) == cudaSuccess) return &staging;
  std::byte* const data = staged_bytes + bytes <= kMostStaged ? pinned(bytes) : nullptr;
  if (!data) return nullptr;
  staged_bytes += bytes;
  const auto place = std::ranges::lower_bound(staged, bytes, {}, &Staging::bytes);
  return &*staged.insert(place, {data, bytes, new_event()});
}

}  // namespace

void copy_in(void* to, const void* from, int64_t bytes) {
  const std::lock_guard lock(mutex);
  stream();  // opens the device
  const auto queue = [&](const void* source) {
    check_cuda(cudaMemcpyAsync(to, source, static_cast<size_t>(bytes), cudaMemcpyHostToDevice,
                               stream()),
               "cudaMemcpyAsync");
  };
  Staging* const staging = free_staging(bytes);
  if (!staging) {
    queue(from);
    return wait();
  }
  std::memcpy(staging->data, from, static_cast<size_t>(bytes));
  queue(staging->data);
  record(staging->copied);
}

CudaFetch fetch(const void* from, int64_t bytes) {
  check<ValueError>(bytes <= kMostFetched, "cuda: too many bytes are fetched: ", bytes,
                    ". Fetch at most ", kMostFetched, ".");
  const std::shared_ptr<Fetch> made(new Fetch{take_slot(), bytes, {}}, [](Fetch* done) {
    const std::lock_guard lock(mutex);
    free_slots.push_back(done->slot);
    delete done;
  });
  check_cuda(cudaMemcpyAsync(made->slot.values, from, static_cast<size_t>(bytes),
                             cudaMemcpyDeviceToHost, stream()),
             "cudaMemcpyAsync");
  made->faults = copy_faults(made->slot.faults);
  record(made->slot.copied);
  return made;
}

void take(const CudaFetch& fetch, void* to) {
  const Fetch& made = *static_cast<const Fetch*>(fetch.get());
  wait_for(made.slot.copied);
  throw_copied(made.slot.faults, made.faults);
  std::memcpy(to, made.slot.values, static_cast<size_t>(made.bytes));
}

}  // namespace plimsoll::cuda
