// TextFeed: where train_transformer's batches come from: functions of their number. On a GPU each is
// copied there while the one before is used, if asked for.
//
//   TextFeed feed(device, planned.next_batch > 0);
//   const data::Batch batch = feed.batch(task.batch, number, session.next_evaluation());
#pragma once

#include <functional>
#include <memory>

#include "data/device_prefetcher.h"
#include "data/pinned_memory.h"

namespace plimsoll::examples {

class TextFeed {
 public:
  using Make = std::function<data::Batch(int64_t number, Device device)>;

  TextFeed(Device device, bool ahead);

  // Batch `number` of those that `make` makes. That of number `end`, and what comes after it, is
  // not copied ahead: where something else needs the memory. Those of another `make`, such as an
  // evaluation's, come after the last before `end`.
  data::Batch batch(const Make& make, int64_t number, int64_t end);

 private:
  struct Ahead {
    data::PinnedMemory memory;
    data::DevicePrefetcher prefetcher;
    int64_t next = 0, end = 0;  // batches that are still to come from the prefetcher
  };

  const Device device_;
  const std::unique_ptr<Ahead> ahead_;  // null: nothing is copied ahead
};

}  // namespace plimsoll::examples
