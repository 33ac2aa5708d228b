#include "data/packed_batch.h"

#include <cstring>

namespace plimsoll::data {
namespace {

void* data_of(const Tensor& tensor) { return view_of(tensor.value()).data; }

}  // namespace

PackedBatch pack(const Batch& batch, std::pmr::memory_resource* pinned) {
  for (const Tensor& part : {batch.x, batch.y})
    check<ValueError>(part.device() == Device::cpu && part.contiguous(),
                      "pack: a batch is packed where it lies on the cpu, contiguous: ", part.meta(),
                      ". Make it there.");
  const int64_t x_bytes = bytes_of(batch.x.meta()), y_bytes = bytes_of(batch.y.meta());
  std::pmr::vector<std::byte> bytes(static_cast<size_t>(x_bytes + y_bytes), pinned);
  std::memcpy(bytes.data(), data_of(batch.x), static_cast<size_t>(x_bytes));
  std::memcpy(bytes.data() + x_bytes, data_of(batch.y), static_cast<size_t>(y_bytes));
  Meta x = batch.x.meta(), y = batch.y.meta();
  x.device = y.device = Device::cuda;
  return {std::move(bytes), [=](const std::byte* from) {
            const MemoryScope scope(MemoryClass::input);
            const Batch there{Tensor::empty(x, "batch"), Tensor::empty(y, "batch")};
            cuda_queue().copy_direct(data_of(there.x), from, x_bytes);
            cuda_queue().copy_direct(data_of(there.y), from + x_bytes, y_bytes);
            return there;
          }};
}

InFlight::~InFlight() {
  try {
    for (const Kept& kept : batches_) cuda_queue().wait(kept.read);
  } catch (const DeviceError&) {  // a device that has failed reads no more
  }
}

void InFlight::add(PackedBatch batch, CudaMark read) {
  batches_.push_back({std::move(batch), std::move(read)});
  for (; std::ssize(batches_) > kMost; batches_.pop_front())
    cuda_queue().wait(batches_.front().read);
}

}  // namespace plimsoll::data
