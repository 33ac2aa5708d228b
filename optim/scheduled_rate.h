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
// steps ago: at least so many were made, and at most as many more as there were steps since.
#pragma once

#include <optional>

#include "core/late.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace plimsoll::optim {

class ScheduledRate {
 public:
  // The schedule is asked for up to so many updates ahead, those beyond its end among them.
  static constexpr int64_t kRates = 16;

  // `steps`: Optimizer::steps() of all that will be set. Their state is restored before the first
  // next(). ValueError for an empty schedule.
  ScheduledRate(Schedule schedule, Tensor steps);

  // Outside the step, before each, whether it makes an update or not. ValueError for a rate that is
  // negative or not finite, StateError while a step is being captured.
  void next();

  // In the step, before the update: schedule(steps) is the optimizer's learning rate from here on.
  void set(const Optimizer& optimizer) const;

 private:
  Schedule schedule_;
  Tensor steps_, rates_;      // f64 [kRates]: that of update s at s mod kRates
  std::optional<Late> made_;  // the updates made when rates_ was written last
  int64_t since_ = 0;         // steps since then
};

}  // namespace plimsoll::optim
