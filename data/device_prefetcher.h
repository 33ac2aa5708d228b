// DevicePrefetcher: while a GPU works on a batch, the next one is copied to it.
//
//   DevicePrefetcher batches;
//   loader.start(epoch);
//   batches.start([&] { return loader.next_packed(); });
//   while (const auto batch = batches.next()) step(batch->x, batch->y);
//
// A packed batch crosses the bus on the stream of copies, into one block of device memory. next()
// lets the GPU wait for that, unpacks the block into fresh tensors, which is short, and lets the
// copy of the batch after that begin behind it: from then on the block is free, and the copy is
// beside whatever is queued next. The host waits only where it is three batches ahead.
#pragma once

#include <exception>
#include <optional>

#include "data/packed_batch.h"
#include "data/pipeline.h"

namespace plimsoll::data {

// One thread at a time. DeviceError without a GPU.
class DevicePrefetcher {
 public:
  // The most of the host's memory that is pinned, in batches: those on their way and the next.
  static constexpr int64_t kPinned = InFlight::kMost + 1;

  DevicePrefetcher() = default;
  ~DevicePrefetcher();
  DevicePrefetcher(const DevicePrefetcher&) = delete;
  DevicePrefetcher& operator=(const DevicePrefetcher&) = delete;

  // Begins to copy the first of these batches; what is left of those before is given up. From here
  // until the last one was taken, the pool holds a block of their size. What owns their pinned
  // memory must outlive the prefetcher.
  void start(Stream<PackedBatch> batches);

  // The next batch; nothing after the last. What taking it from the stream threw is thrown in its
  // turn, after the batches before it, and ends them. StateError before start(), OutOfMemory.
  std::optional<Batch> next();

 private:
  void copy_next();
  void give_up();

  Stream<PackedBatch> batches_;
  std::shared_ptr<Storage> block_;  // on the device
  CudaMark copied_;                 // the next batch, into the block; empty: there is none
  std::function<Batch(const std::byte*)> unpack_;  // that batch
  std::exception_ptr error_;                       // comes instead of it
  InFlight in_flight_;
};

}  // namespace plimsoll::data
