// TextFeed: where train_transformer's training batches come from: functions of their number. On a
// GPU each is copied there while the one before is used, if asked for.
//
//   TextFeed feed(task.batch, device, planned.next_batch > 0);
//   const data::Batch batch = feed.batch(number, session.next_evaluation());
#pragma once

#include <functional>
#include <optional>

#include "data/device_prefetcher.h"
#include "data/pinned_memory.h"

namespace plimsoll::examples {

class TextFeed {
 public:
  using Make = std::function<data::Batch(int64_t number, Device device)>;

  TextFeed(Make make, Device device, bool ahead);

  // Batch `number`. That of number `end`, and what comes after it, is not copied ahead: where
  // something else needs the memory, such as an evaluation.
  data::Batch batch(int64_t number, int64_t end);

 private:
  struct Ahead {
    data::PinnedMemory memory;
    data::DevicePrefetcher prefetcher;
    int64_t next = 0, end = 0;  // batches that are still to come from the prefetcher
  };

  const Make make_;
  const Device device_;
  std::optional<Ahead> ahead_;
};

}  // namespace plimsoll::examples
