#include "optim/async_count.h"

#include "core/engine/trace.h"

namespace plimsoll::optim {

void AsyncCount::next() {
  check<StateError>(!Trace::current(),
                    "async_count: a step is being captured: it would be done once and never again. "
                    "Call next() between steps.");
  counts_.emplace_back(steps_);
  if (counts_.size() > kDelay + 1) counts_.pop_front();
  const auto now = static_cast<int64_t>(counts_.front().value());
  check<StateError>(counts_.size() <= kDelay || (now >= least_ && now <= least_ + 1),
                    "async_count: the number of updates went from ", least_, " to ", now,
                    " with one next(). Call it before each update, and begin anew after a state "
                    "was restored.");
  least_ = now;
  uncertain_ = std::ssize(counts_) - 1;
}

int64_t AsyncCount::exact() const {
  check<StateError>(!counts_.empty(), "async_count: nothing was counted yet. Call next() first.");
  return static_cast<int64_t>(counts_.back().value());
}

}  // namespace plimsoll::optim
