// PooledAllocator: takes segments from a provider and cuts them into blocks. Best fit; neighbours
// that are free grow together again. With a limit it is exact instead: every block is a segment of
// its own, and can be had exactly when it and the blocks in use are no more than the limit.
//
//   auto pool = std::make_shared<PooledAllocator>(host_provider(), /*limit=*/int64_t{1} << 30);
//   AllocatorScope scope(pool);
//   PeakScope region(*pool);
//   train_step(x, y);
//   region.peak().bytes;               // the most that was in use meanwhile
//   pool->stats().by_class;            // what holds it now
#pragma once

#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "core/engine/module_scope.h"
#include "core/tensor/allocator.h"
#include "core/tensor/bytes.h"
#include "memory/pool/provider.h"

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

// What happened in a pool: pictures of its memory over time are made of these.
//
//   pool->keep_history(100'000);
//   train_step(x, y);
//   for (const MemoryEvent& event : pool->history()) ...        // the oldest first
struct MemoryEvent {
  enum class Kind : uint8_t { allocate, free, segment_allocate, segment_free };
  Kind kind;
  int64_t nanoseconds;  // of the steady clock
  const std::byte* address;
  int64_t bytes;             // as the pool counts them
  MemoryClass memory_class;  // of blocks: what they are held for at that moment
  const char* op;            // that asked for a block; "" for other events
  ModuleName module;         // in which it did
};

// The last events, in a ring.
class History {
 public:
  explicit History(size_t capacity = 0) : capacity_(capacity) {  // 0: keeps nothing
    events_.reserve(capacity);
  }

  void add(MemoryEvent::Kind kind, const std::byte* address, int64_t bytes,
           MemoryClass memory_class = MemoryClass::activation, const char* op = "") {
    if (capacity_ == 0) return;
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    const MemoryEvent event{kind, now.count(), address, bytes, memory_class, op, current_module()};
    if (events_.size() < capacity_)
      events_.push_back(event);
    else
      events_[next_] = event;
    next_ = (next_ + 1) % capacity_;
  }

  std::vector<MemoryEvent> events() const {
    if (events_.size() < capacity_) return events_;
    std::vector<MemoryEvent> ordered(events_.begin() + static_cast<std::ptrdiff_t>(next_),
                                     events_.end());
    ordered.insert(ordered.end(), events_.begin(),
                   events_.begin() + static_cast<std::ptrdiff_t>(next_));
    return ordered;
  }

 private:
  size_t capacity_, next_ = 0;
  std::vector<MemoryEvent> events_;
};

class PooledAllocator : public Allocator {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  // `limit` bounds what is taken from the provider at any moment, free blocks included; those go
  // back when others need the room. A step for which nothing else is held runs in a pool limited to
  // its Plan::total_bytes(), and not in one byte less.
  explicit PooledAllocator(Provider provider, int64_t limit = kUnlimited);
  ~PooledAllocator() override;

  Device device() const override { return provider_.device; }
  // std::bad_alloc where the host has no memory for the pool's own bookkeeping: nothing is lost.
  void* allocate(int64_t bytes, MemoryClass memory_class, const char* op) override;
  void deallocate(void* data, int64_t bytes, MemoryClass memory_class) noexcept override;
  void reclassify(int64_t bytes, MemoryClass from, MemoryClass to) noexcept override;

  void trim();  // gives back every segment that holds no block
  // What was cut before a limit stays cut: set it before the first block for it to be exact.
  void set_limit(int64_t limit);
  int64_t limit() const;

  MemoryStats stats() const;
  void reset_peak();

  // From now on the last `events` events are kept; 0, the default, forgets them all.
  void keep_history(size_t events);
  std::vector<MemoryEvent> history() const;

 private:
  friend class PeakScope;

  enum Kind : uint8_t { kLarge, kSmall, kKinds };  // of segments
  // Free blocks by size, then address: the first that is large enough is the best fit.
  using FreeBlocks = std::set<std::pair<int64_t, std::byte*>>;
  // Blocks by address. A segment is a run of neighbours that begins with `first`.
  struct Block {
    int64_t bytes;
    bool first;
    Kind kind;
    // Its place among the free blocks, made with it. It keeps it while it is in use, so that giving
    // it back takes no memory of the host.
    FreeBlocks::node_type place;
    bool free() const { return place.empty(); }
  };
  using Blocks = std::map<std::byte*, Block>;

  bool exact() const { return limit_ != kUnlimited; }
  std::byte* take_free(int64_t bytes, Kind kind, bool whole = false);
  std::byte* take_anywhere(int64_t bytes);
  bool grow(int64_t bytes, Kind kind);
  bool add_segment(int64_t bytes, Kind kind);
  FreeBlocks::node_type new_place();
  void put_free(Blocks::iterator block) noexcept;
  bool is_free_segment(Blocks::const_iterator block) const;
  bool release_one(int64_t bytes);
  void release_free_segments();
  Blocks::iterator release(Blocks::iterator segment);
  int64_t held() const;
  void record(int64_t bytes, MemoryClass memory_class);
  MemoryStats snapshot() const;
  [[noreturn]] void refuse(int64_t bytes, const char* op) const;

  const Provider provider_;
  mutable std::mutex mutex_;
  int64_t limit_;
  Blocks blocks_;
  FreeBlocks free_[kKinds];
  FreeBlocks::node_type spare_;  // a place that is left over, for the next block
  int64_t reserved_ = 0, in_use_ = 0, allocations_ = 0, frees_ = 0;
  BytesByClass by_class_{};
  Peak peak_;
  std::set<Peak*> regions_;  // of the live PeakScopes
  History history_;
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

// A new one, for what is in no plan and no limit.
std::shared_ptr<PooledAllocator> unplanned_pool(Device device = Device::cpu);

}  // namespace plimsoll
