#include "core/cuda/staging.h"

#include <algorithm>
#include <array>
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

std::byte* pinned(int64_t bytes) {
  void* const data = cuda_api().allocate_pinned(bytes);
  check<OutOfMemory>(data != nullptr, "cuda: no more memory of the host can be pinned: asked for ",
                     bytes, " bytes. Free some of it.");
  return static_cast<std::byte*>(data);
}

// Filled from the front, piece after piece; the first is filled again when its copies are done.
class Ring {
 public:
  void copy(std::byte* to, const std::byte* from, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    while (bytes > 0) {
      Piece& piece = pieces_[current_];
      if (!piece.data) piece = {pinned(kPiece), new_event()};
      const int64_t n = std::min(bytes, kPiece - used_);
      std::memcpy(piece.data + used_, from, static_cast<size_t>(n));
      check_cuda(cudaMemcpyAsync(to, piece.data + used_, static_cast<size_t>(n),
                                 cudaMemcpyHostToDevice, stream()),
                 "cudaMemcpyAsync");
      to += n, from += n, bytes -= n, used_ += n;
      if (used_ == kPiece) next();
    }
  }

 private:
  static constexpr int64_t kPiece = int64_t{1} << 20;
  struct Piece {
    std::byte* data = nullptr;
    cudaEvent_t copied = nullptr;
  };

  void next() {
    record(pieces_[current_].copied);
    current_ = (current_ + 1) % pieces_.size();
    used_ = 0;
    if (pieces_[current_].data) wait_for(pieces_[current_].copied);
  }

  std::mutex mutex_;
  std::array<Piece, 4> pieces_;
  size_t current_ = 0;
  int64_t used_ = 0;  // bytes of the current piece
};

// What a fetch writes to. It is handed out again although a copy may still be on its way: the next
// one comes behind it.
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
    std::byte* const data = pinned(kMostFetched + kMostFaults * sizeof(uint64_t));
    return {data, reinterpret_cast<uint64_t*>(data + kMostFetched), new_event()};
  }
  const Slot slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

}  // namespace

void copy_in(void* to, const void* from, int64_t bytes) {
  static Ring& ring = *new Ring;  // stays: when a process ends the driver may have gone before
  ring.copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
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
