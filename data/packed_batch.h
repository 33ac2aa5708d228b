// PackedBatch: a batch in one block of pinned memory, on its way to a GPU.
//
//   PackedBatch packed = pack(batch, memory);
//   const Batch there = packed.unpack(packed.bytes.data());
//   in_flight.add(std::move(packed), cuda_queue().mark());
#pragma once

#include <deque>
#include <functional>
#include <memory_resource>
#include <vector>

#include "core/cuda/seam/cuda_queue.h"
#include "data/batch.h"

namespace plimsoll::data {

struct PackedBatch {
  std::pmr::vector<std::byte> bytes;  // in PinnedMemory; made by a move it keeps its memory
  // Queues what makes tensors on the GPU of these bytes, or of a copy of them on the device. What it
  // reads has to stay there until a mark after it. OutOfMemory.
  std::function<Batch(const std::byte* bytes)> unpack;
};

// The bytes of a batch as they are. ValueError unless it lies on the CPU, contiguous; OutOfMemory.
PackedBatch pack(const Batch& batch, std::pmr::memory_resource* pinned);

// Batches that the GPU may not have read yet.
class InFlight {
 public:
  static constexpr int64_t kMost = 2;

  InFlight() = default;
  ~InFlight();  // waits for all
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // Keeps the bytes until the GPU has come to `read`. Waits for those of the last batch but two.
  void add(PackedBatch batch, CudaMark read);

 private:
  struct Kept {
    PackedBatch batch;
    CudaMark read;
  };
  std::deque<Kept> batches_;
};

}  // namespace plimsoll::data
