// ScheduledRate: the learning rate of a schedule where updates may be skipped, which only the
// device knows (optim/loss_scaler.h): nobody waits to ask it.
//
//   optim::ScheduledRate rate(schedule, optimizer.steps());
//   Step step([&](const Tensor& x, const Tensor& y) {
//     rate.set(optimizer);
//     ...
//     optimizer.update(grads, skip);
//   });
//   for (...) {
//     rate.next();                       // outside the step
//     step(x, y);
//   }
//
// The device has the rates of the next updates and takes the one that its own count of updates asks
// for. The host writes further ones from time to time. By then it has a count that was sent some
// steps ago: at least so many were made, and at most as many more as there were steps since. Where
// that is not so, as with two steps for one next(), no update gets the rate of another: what the
// device has no rate for gets NaN, and a later next() is an error.
#pragma once

#include <optional>

#include "core/engine/async_read_back.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace plimsoll::optim {

class ScheduledRate {
 public:
  // The schedule is asked for up to so many updates ahead, those beyond its end among them.
  static constexpr int64_t kRates = 16;

  // `steps`: Optimizer::steps() of all that will be set. ValueError for an empty schedule.
  ScheduledRate(Schedule schedule, Tensor steps);

  // Outside the step, before each, whether it makes an update or not. ValueError for a rate that is
  // negative or not finite, StateError while a step is being captured, and some steps after more
  // updates were made than this was called, or `steps` was restored without restart().
  void next();

  // After `steps` was restored, unless that was before the first next(): the next one asks the
  // device for it, and waits.
  void restart() { made_.reset(); }

  // In the step, before the update: schedule(steps) is the optimizer's learning rate from here on.
  // NaN where next() did not provide for it.
  void set(const Optimizer& optimizer) const;

 private:
  Schedule schedule_;
  Tensor steps_, first_, rates_;  // i64 []; f64 [kRates]: those of updates first_, first_ + 1, ...
  int64_t written_ = 0;           // first_, as the host wrote it
  std::optional<AsyncReadBack> made_;  // the updates made by then, which may be more
  int64_t since_ = 0;                  // steps since then
};

}  // namespace plimsoll::optim
