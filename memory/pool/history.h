// History: the last events of a pool, in a ring; what a picture of its memory over time is made of.
//
//   pool->keep_history(100'000);
//   train_step(x, y);
//   for (const MemoryEvent& event : pool->history()) ...        // the oldest first
#pragma once

#include <chrono>
#include <vector>

#include "core/tensor/meta.h"

namespace plimsoll {

struct MemoryEvent {
  enum class Kind : uint8_t { allocate, free, segment_allocate, segment_free };
  Kind kind;
  int64_t nanoseconds;  // of the steady clock
  const std::byte* address;
  int64_t bytes;             // as the pool counts them
  MemoryClass memory_class;  // of blocks: what they are held for at that moment
  const char* op;            // that asked for a block; "" for other events
};

class History {
 public:
  explicit History(size_t capacity = 0) : capacity_(capacity) {  // 0: keeps nothing
    events_.reserve(capacity);
  }

  void add(MemoryEvent::Kind kind, const std::byte* address, int64_t bytes,
           MemoryClass memory_class = MemoryClass::activation, const char* op = "") {
    if (capacity_ == 0) return;
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    const MemoryEvent event{kind, now.count(), address, bytes, memory_class, op};
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

}  // namespace plimsoll
