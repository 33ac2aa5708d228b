#include "examples/common/text_feed.h"

namespace plimsoll::examples {

TextFeed::TextFeed(Device device, bool ahead)
    : device_(device), ahead_(ahead ? std::make_unique<Ahead>() : nullptr) {}

data::Batch TextFeed::batch(const Make& make, int64_t number, int64_t end) {
  if (!ahead_) return make(number, device_);
  if (ahead_->next == ahead_->end || ahead_->next != number) {
    ahead_->prefetcher.start(data::mapped(data::numbers(number, end), [this, make](int64_t next) {
      return data::pack(make(next, Device::cpu), &ahead_->memory);
    }));
    ahead_->end = end;
  }
  ahead_->next = number + 1;
  return *ahead_->prefetcher.next();
}

}  // namespace plimsoll::examples
