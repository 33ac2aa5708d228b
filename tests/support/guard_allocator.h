// A CPU allocator that catches kernels which write outside their blocks or rely on old contents:
// every block is filled with NaN when it is handed out and again when it comes back, and lies
// between guard bytes that are checked when it comes back.
#pragma once

#include <atomic>

#include "core/tensor/allocator.h"

namespace plimsoll {

class GuardAllocator : public Allocator {
 public:
  Device device() const override { return Device::cpu; }
  void* allocate(int64_t bytes, MemoryClass memory_class, const char* op) override;
  void deallocate(void* data, int64_t bytes, MemoryClass memory_class) noexcept override;
  void reclassify(int64_t, MemoryClass, MemoryClass) noexcept override {}

  int64_t damaged() const { return damaged_; }  // blocks whose guards were overwritten
  int64_t live() const { return live_; }        // blocks not yet given back

 private:
  std::atomic<int64_t> damaged_ = 0, live_ = 0;
};

}  // namespace plimsoll
