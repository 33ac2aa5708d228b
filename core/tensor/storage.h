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

  // Gives its bytes back; from here on it is the part of `whole` that begins at byte `begin`, real
  // or symbolic: so all who hold a parameter see it in a flat buffer of many, or in one that is
  // there for a while. nullptr: it has no bytes until the next call. `whole` is part of no other.
  void become_part_of(std::shared_ptr<Storage> whole, int64_t begin = 0);
  const std::shared_ptr<Storage>& whole() const { return whole_; }  // null: it is no part
  int64_t begin() const { return begin_; }
  // What tells whether two share memory.
  const Storage* base() const { return whole_ ? whole_.get() : this; }

  std::byte* data() const {
    if (!whole_) return data_;
    return whole_->data_ ? whole_->data_ + begin_ : nullptr;
  }
  int64_t bytes() const { return bytes_; }
  MemoryClass memory_class() const { return memory_class_; }
  void reclassify(MemoryClass memory_class);

  bool is_symbolic() const { return trace() != 0; }
  uint64_t trace() const { return base()->trace_; }  // 0: real
  int buffer() const { return base()->buffer_; }

  // Counts the ops that wrote into this block in place. A saved value remembers the number it saw.
  uint32_t version() const { return base()->version_; }
  void bump_version() { ++(whole_ ? *whole_ : *this).version_; }
  // A capture ends: nothing was written.
  void restore_version(uint32_t version) { (whole_ ? *whole_ : *this).version_ = version; }
  uint64_t born() const { return born_; }  // storages are numbered in the order of their creation
  static uint64_t next_born() { return next_born_.load(); }

  // How many storages exist in the process; tests use it to prove that nothing leaks.
  static int64_t live() { return live_.load(); }

 private:
  Storage() : born_(next_born_++) { ++live_; }
  void give_back();

  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::shared_ptr<Allocator> owner_;
  std::shared_ptr<Storage> whole_;
  int64_t begin_ = 0;
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
