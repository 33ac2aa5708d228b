// Storage: one block of memory, shared by all the values that look into it; it goes back to its
// allocator with the last of them. While a step is captured a storage is symbolic: it has a size
// and the number of a buffer in the Program, and no bytes.
#pragma once

#include <atomic>

#include "core/tensor/allocator.h"

namespace plimsoll {

class Storage {
 public:
  // Takes block_bytes(bytes) from the allocator that is current for `device`.
  static std::shared_ptr<Storage> allocate(Device device, int64_t bytes, MemoryClass memory_class,
                                           const char* op);
  // Stands for buffer number `buffer` of the trace `trace`.
  static std::shared_ptr<Storage> symbolic(uint64_t trace, int buffer, int64_t bytes);

  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  MemoryClass memory_class() const { return memory_class_; }
  void reclassify(MemoryClass memory_class);

  bool is_symbolic() const { return trace_ != 0; }
  uint64_t trace() const { return trace_; }  // 0: real
  int buffer() const { return buffer_; }

  // Counts the ops that wrote into this block in place. A saved value remembers the number it saw.
  uint32_t version() const { return version_; }
  void bump_version() { ++version_; }
  void restore_version(uint32_t version) {
    version_ = version;
  }                                        // a capture ends: nothing was written
  uint64_t born() const { return born_; }  // storages are numbered in the order of their creation
  static uint64_t next_born() { return next_born_.load(); }

  // How many storages exist in the process; tests use it to prove that nothing leaks.
  static int64_t live() { return live_.load(); }

 private:
  Storage() : born_(next_born_++) { ++live_; }

  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::shared_ptr<Allocator> owner_;
  uint64_t born_;
  uint64_t trace_ = 0;
  int buffer_ = -1;
  uint32_t version_ = 0;
  MemoryClass memory_class_ = MemoryClass::activation;
  static inline std::atomic<int64_t> live_ = 0;
  static inline std::atomic<uint64_t> next_born_ = 0;
};

// New blocks on this thread belong to this class (parameters, inputs, ...) until the scope ends.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryClass memory_class);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  static MemoryClass current();

 private:
  MemoryClass previous_;
};

}  // namespace plimsoll
