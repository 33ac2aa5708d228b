// A pool in which one allocation fails, as if the memory were full.
//
//   pool->full_at = 3;                 // the third from now on throws OutOfMemory; later ones work
#pragma once

#include "memory/pool/pooled_allocator.h"

namespace plimsoll {

struct FullPool : PooledAllocator {
  using PooledAllocator::PooledAllocator;
  void* allocate(int64_t bytes, MemoryClass memory_class, const char* op) override {
    check<OutOfMemory>(--full_at != 0, op, ": full");
    return PooledAllocator::allocate(bytes, memory_class, op);
  }
  int full_at = 0;
};

}  // namespace plimsoll
