#include "core/cuda/fetch.h"

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
    const cudaEvent_t copied = new_event();
    void* data = nullptr;
    check_cuda(cudaHostAlloc(&data, kMostFetched + kMostFaults * sizeof(uint64_t), 0),
               "cudaHostAlloc");
    auto* const values = static_cast<std::byte*>(data);
    return {values, reinterpret_cast<uint64_t*>(values + kMostFetched), copied};
  }
  const Slot slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

}  // namespace

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
