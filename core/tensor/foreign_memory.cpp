#include "core/tensor/foreign_memory.h"

namespace plimsoll {
namespace {

class ForeignMemory : public Allocator {
 public:
  ForeignMemory(const void* data, std::shared_ptr<const void> owner)
      : data_(const_cast<void*>(data)), owner_(std::move(owner)) {}
  Device device() const override { return Device::cpu; }
  void* allocate(int64_t bytes, MemoryClass, const char*) override {
    return bytes > 0 ? data_ : nullptr;
  }
  void deallocate(void*, int64_t, MemoryClass) noexcept override {}
  void reclassify(int64_t, MemoryClass, MemoryClass) noexcept override {}

 private:
  void* data_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

std::shared_ptr<Storage> foreign_storage(const void* data, int64_t bytes,
                                         std::shared_ptr<const void> owner) {
  const AllocatorScope scope(std::make_shared<ForeignMemory>(data, std::move(owner)));
  return Storage::allocate(Device::cpu, bytes, MemoryScope::current(), "foreign_memory");
}

Tensor foreign_tensor(const Meta& meta, const void* data, std::shared_ptr<const void> owner) {
  const int64_t bytes = bytes_of(meta);
  return Tensor(Value{.meta = meta,
                      .strides = row_major(meta.shape),
                      .offset = 0,
                      .storage = foreign_storage(data, bytes, std::move(owner))});
}

}  // namespace plimsoll
