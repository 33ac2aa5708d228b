// Allocator: where tensors get their bytes. core says what one is; memory/ has the pool.
//
//   auto pool = std::make_shared<PooledAllocator>(host_provider());
//   AllocatorScope scope(pool);        // on this thread, CPU tensors now come from `pool`
#pragma once

#include <memory>

#include "core/tensor/meta.h"

namespace plimsoll {

class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual Device device() const = 0;

  // A block of block_bytes(bytes) bytes on a kGranule boundary; nullptr for 0 bytes. `op` is named
  // in the OutOfMemory error thrown when the block cannot be had. Safe to call from any thread.
  virtual void* allocate(int64_t bytes, MemoryClass memory_class, const char* op) = 0;

  // Takes back a block with the size and class it has now.
  virtual void deallocate(void* data, int64_t bytes, MemoryClass memory_class) noexcept = 0;

  // The block is now held for something else: moves its bytes between classes in the statistics.
  virtual void reclassify(int64_t bytes, MemoryClass from, MemoryClass to) noexcept = 0;
};

// The process-wide pool of a device. Defined by memory/pool/pooled_allocator.cpp: core only asks.
std::shared_ptr<Allocator> default_allocator(Device device);

// The allocator that new tensors on `device` use on this thread.
std::shared_ptr<Allocator> current_allocator(Device device);

// Makes `allocator` current for its device on this thread until the scope ends.
class AllocatorScope {
 public:
  explicit AllocatorScope(std::shared_ptr<Allocator> allocator);
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope&) = delete;
  AllocatorScope& operator=(const AllocatorScope&) = delete;

 private:
  Device device_;
  std::shared_ptr<Allocator> previous_;
};

}  // namespace plimsoll
