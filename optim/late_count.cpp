#include "optim/late_count.h"

namespace plimsoll::optim {

void LateCount::next() {
  counts_.emplace_back(steps_);
  if (counts_.size() > kLate + 1) counts_.pop_front();
  least_ = static_cast<int64_t>(counts_.front().value());
  uncertain_ = std::ssize(counts_) - 1;
}

}  // namespace plimsoll::optim
