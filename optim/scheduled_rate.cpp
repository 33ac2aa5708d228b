#include "optim/scheduled_rate.h"

#include <array>
#include <limits>

#include "core/engine/trace.h"
#include "ops/random/full/full.h"
#include "ops/update/increment/rate_at_step.h"

namespace plimsoll::optim {

ScheduledRate::ScheduledRate(Schedule schedule, Tensor steps)
    : schedule_(std::move(schedule)), steps_(std::move(steps)) {
  check<ValueError>(schedule_ != nullptr,
                    "scheduled_rate: there is no schedule: an empty function. Pass one.");
  const MemoryScope scope(MemoryClass::optimizer);
  rates_ = zeros({kRates}, {DType::f64, steps_.device()});
  first_ = full({}, -kRates, {DType::i64, steps_.device()});  // of no update: next() was not called
}

// Rates last for half as many steps as there are rates: when they are written, the count is the one
// of the last time. Up to kRates / 2 updates were made since then, and as many may follow.
void ScheduledRate::next() {
  check<StateError>(!Trace::current(),
                    "scheduled_rate: a step is being captured: it would be done once and never "
                    "again. Call next() between steps.");
  if (made_ && ++since_ < kRates / 2) return;
  AsyncReadBack now(steps_);
  const auto first = static_cast<int64_t>((made_ ? *made_ : now).value());
  check<StateError>(!made_ || (first >= written_ && first - written_ <= kRates / 2),
                    "scheduled_rate: the number of updates went from ", written_, " to ", first,
                    " in ", kRates / 2,
                    " steps. Call next() before each step, and restart() "
                    "after a state was restored.");
  std::array<double, kRates> rates{};
  for (int64_t i = 0; i < kRates; ++i) {
    const int64_t step = first + i;
    const double rate = rates[static_cast<size_t>(i)] = schedule_(step);
    check<ValueError>(rate >= 0 && rate <= std::numeric_limits<float>::max(),
                      "scheduled_rate: the rate of update ", step,
                      " is not a number from 0 that f32 has: ", rate,
                      ". Use a schedule of such numbers.");
  }
  rates_.write(std::span<const double>(rates));
  first_.write(std::span<const int64_t>(&first, 1));
  written_ = first;
  made_ = std::move(now);
  since_ = 0;
}

void ScheduledRate::set(const Optimizer& optimizer) const {
  rate_at_step(optimizer.learning_rate(), rates_, first_, optimizer.steps());
}

}  // namespace plimsoll::optim
