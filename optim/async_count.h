// AsyncCount: about how many updates were made, where loss scaling may skip some and only the device
// knows which (optim/loss_scaler.h). Nobody waits to ask it, until the number itself is needed.
//
//   optim::AsyncCount made(optimizer.steps());
//   for (...) {
//     made.next();                                          // before each update, or skipped one
//     if (made.any([&](int64_t step) { return schedule.due(step); })) pruner.prune(made.exact());
//     step(x, y);
//   }
//
// What was counted before the update kDelay earlier has come to the host by then, and so many more
// were made since at most.
#pragma once

#include <deque>

#include "core/engine/async_read_back.h"

namespace plimsoll::optim {

class AsyncCount {
 public:
  static constexpr size_t kDelay = 2;  // updates

  // `steps`: Optimizer::steps().
  explicit AsyncCount(Tensor steps) : steps_(std::move(steps)) {}

  // The first one waits. StateError where a step is being captured, and where more updates were made
  // than next() was called for.
  void next();

  // Whether may_be(n) for one of the numbers n that the count may be now.
  template <class F>
  bool any(const F& may_be) const {  // false before next()
    if (counts_.empty()) return false;
    for (int64_t n = least_; n <= least_ + uncertain_; ++n)
      if (may_be(n)) return true;
    return false;
  }
  // The count at the last next(). Waits until the GPU has come so far. StateError before next().
  int64_t exact() const;

 private:
  Tensor steps_;
  std::deque<AsyncReadBack> counts_;  // before the updates from `uncertain_` ago on
  int64_t least_ = 0, uncertain_ = 0;
};

}  // namespace plimsoll::optim
