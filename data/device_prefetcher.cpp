#include "data/device_prefetcher.h"

namespace plimsoll::data {

DevicePrefetcher::~DevicePrefetcher() { give_up(); }

void DevicePrefetcher::start(Stream<PackedBatch> batches) {
  give_up();
  batches_ = std::move(batches);
  copy_next();
}

std::optional<Batch> DevicePrefetcher::next() {
  check<StateError>(batches_ != nullptr, "prefetch: no batches were begun. Call start() first.");
  if (error_) std::rethrow_exception(error_);
  if (!copied_) return std::nullopt;
  cuda_queue().follow(copied_);
  const Batch batch = unpack_(block_->data());
  copied_ = nullptr;
  copy_next();
  return batch;
}

// The block may be one that the pool got back a moment ago, and is read until what is queued now
// is done; so is the batch before, if it was there. The copy comes after that.
void DevicePrefetcher::copy_next() {
  try {
    std::optional<PackedBatch> batch = batches_();
    if (!batch) {
      block_ = nullptr;
      return;
    }
    const auto bytes = static_cast<int64_t>(batch->bytes.size());
    if (!block_ || block_->bytes() < bytes) {
      block_ = nullptr;
      block_ = Storage::allocate(Device::cuda, bytes, MemoryClass::input, "prefetch");
    }
    unpack_ = batch->unpack;
    copied_ =
        cuda_queue().copy_beside(block_->data(), batch->bytes.data(), bytes, cuda_queue().mark());
    in_flight_.add(std::move(*batch), copied_);
  } catch (...) {
    error_ = std::current_exception();
    if (!copied_) block_ = nullptr;
  }
}

// Who gets the block next does not wait for the copy: the host does.
void DevicePrefetcher::give_up() {
  try {
    if (copied_) cuda_queue().wait(copied_);
  } catch (const DeviceError&) {  // a device that has failed copies no more
  }
  copied_ = nullptr;
  error_ = nullptr;
  block_ = nullptr;
}

}  // namespace plimsoll::data
