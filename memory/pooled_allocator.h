// PooledAllocator: takes segments from a provider and cuts them into blocks. Best fit; neighbours
// that are free grow together again; never more than `limit` bytes from the provider.
//
//   auto pool = std::make_shared<PooledAllocator>(host_provider(), /*limit=*/int64_t{1} << 30);
//   AllocatorScope scope(pool);
//   PeakScope region(*pool);
//   train_step(x, y);
//   region.peak().bytes;               // the most that was in use meanwhile
//   pool->stats().by_class;            // what holds it now
#pragma once

#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "core/allocator.h"
#include "memory/bytes.h"
#include "memory/provider.h"

namespace plimsoll {

// The most bytes in use at any moment, and what held them at that moment.
struct Peak {
  int64_t bytes = 0;
  BytesByClass by_class{};
};

struct MemoryStats {
  int64_t in_use = 0;        // in blocks handed out, each rounded up by block_bytes()
  int64_t reserved = 0;      // taken from the provider: in_use + free
  int64_t free = 0;          // kept for the next block
  int64_t largest_free = 0;  // the largest block that needs nothing from the provider
  double fragmentation = 0;  // 1 - largest_free / free; 0 when nothing is free
  int64_t allocations = 0;   // since the pool was made
  int64_t frees = 0;
  BytesByClass by_class{};  // of in_use
  Peak peak;                // of in_use since the last reset_peak()
};

class PooledAllocator : public Allocator {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  // `limit` bounds reserved bytes: what the process really takes, waste included. A step
  // needs more than its Plan::total_bytes(), which are bytes in use: up to 2 MiB for the rest of the
  // last segment of small blocks, and what earlier blocks left in pieces.
  explicit PooledAllocator(Provider provider, int64_t limit = kUnlimited);
  ~PooledAllocator() override;

  Device device() const override { return provider_.device; }
  void* allocate(int64_t bytes, MemoryClass memory_class, const char* op) override;
  void deallocate(void* data, int64_t bytes, MemoryClass memory_class) noexcept override;
  void reclassify(int64_t bytes, MemoryClass from, MemoryClass to) noexcept override;

  void trim();  // gives back every segment that holds no block
  void set_limit(int64_t limit);
  MemoryStats stats() const;
  void reset_peak();

 private:
  friend class PeakScope;

  // Blocks by address. A segment is a run of neighbours that begins with `first`.
  struct Block {
    int64_t bytes;
    bool free, first;
    bool small;  // which kind of segment it is in
  };
  using Blocks = std::map<std::byte*, Block>;
  // Free blocks by size, then address: the first that is large enough is the best fit.
  using FreeBlocks = std::set<std::pair<int64_t, std::byte*>>;

  std::byte* take_free(int64_t bytes, bool small);
  bool grow(int64_t bytes, bool small);
  bool add_segment(int64_t bytes, bool small);
  void release_free_segments();
  void record(int64_t bytes, MemoryClass memory_class);
  MemoryStats snapshot() const;
  [[noreturn]] void refuse(int64_t bytes, const char* op) const;

  const Provider provider_;
  mutable std::mutex mutex_;
  int64_t limit_;
  Blocks blocks_;
  FreeBlocks free_[2];  // in large segments, in small segments
  int64_t reserved_ = 0, in_use_ = 0, allocations_ = 0, frees_ = 0;
  BytesByClass by_class_{};
  Peak peak_;
  std::set<Peak*> regions_;  // of the live PeakScopes
};

// The peak of a region of the program. Regions may nest or overlap; the pool must outlive them.
class PeakScope {
 public:
  explicit PeakScope(PooledAllocator& pool);
  ~PeakScope();
  PeakScope(const PeakScope&) = delete;
  PeakScope& operator=(const PeakScope&) = delete;
  Peak peak() const;

 private:
  PooledAllocator& pool_;
  Peak peak_;
};

// What default_allocator() of core hands out, as the pool it is. It is never destroyed, because
// tensors in global variables give their bytes back after main().
std::shared_ptr<PooledAllocator> default_pool(Device device);

}  // namespace plimsoll
