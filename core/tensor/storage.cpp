#include "core/tensor/storage.h"

#include <utility>

#include "core/tensor/thread_state.h"

namespace plimsoll {
namespace {

std::shared_ptr<Allocator>& slot(Device device) {
  return thread_state().allocators[static_cast<size_t>(device)];
}

}  // namespace

std::shared_ptr<Allocator> current_allocator(Device device) {
  const auto& scoped = slot(device);
  return scoped ? scoped : default_allocator(device);
}

AllocatorScope::AllocatorScope(std::shared_ptr<Allocator> allocator)
    : device_(allocator->device()), previous_(std::exchange(slot(device_), std::move(allocator))) {}

AllocatorScope::~AllocatorScope() { slot(device_) = std::move(previous_); }

MemoryScope::MemoryScope(MemoryClass memory_class)
    : previous_(std::exchange(thread_state().memory_class, memory_class)) {}

MemoryScope::~MemoryScope() { thread_state().memory_class = previous_; }

MemoryClass MemoryScope::current() { return thread_state().memory_class; }

std::shared_ptr<Storage> Storage::allocate(Device device, int64_t bytes, MemoryClass memory_class,
                                           const char* op) {
  std::shared_ptr<Storage> storage(new Storage);
  storage->owner_ = current_allocator(device);
  storage->memory_class_ = memory_class;
  storage->data_ = static_cast<std::byte*>(storage->owner_->allocate(bytes, memory_class, op));
  storage->bytes_ = bytes;  // only now: a failed allocation has nothing to give back
  return storage;
}

std::shared_ptr<Storage> Storage::symbolic(uint64_t trace, int buffer, int64_t bytes) {
  std::shared_ptr<Storage> storage(new Storage);
  storage->trace_ = trace;
  storage->buffer_ = buffer;
  storage->bytes_ = bytes;
  return storage;
}

Storage::~Storage() {
  give_back();
  --live_;
}

void Storage::give_back() {
  if (owner_ && data_) owner_->deallocate(data_, bytes_, memory_class_);
  data_ = nullptr;
}

void Storage::become_part_of(std::shared_ptr<Storage> whole, int64_t begin) {
  give_back();
  whole_ = std::move(whole);
  begin_ = begin;
}

void Storage::reclassify(MemoryClass memory_class) {
  if (owner_ && data_) owner_->reclassify(bytes_, memory_class_, memory_class);
  memory_class_ = memory_class;
}

}  // namespace plimsoll
