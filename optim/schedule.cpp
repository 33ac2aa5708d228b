#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include "core/error.h"

namespace plimsoll::optim {
namespace {

void check_steps(const char* name, int64_t steps) {
  check<ValueError>(steps >= 1, name, ": the number of steps is too small: ", steps,
                    ". Use 1 or more.");
}

// From `base` at t = 0 down to `low` at t = 1.
double half_cosine(double base, double low, double t) {
  return low + (base - low) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

double ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

Schedule constant(double base) {
  return [=](int64_t) { return base; };
}

Schedule step_decay(double base, int64_t every, double factor) {
  check_steps("step_decay", every);
  return [=](int64_t step) { return base * std::pow(factor, static_cast<double>(step / every)); };
}

Schedule cosine(double base, double low, int64_t steps) {
  check_steps("cosine", steps);
  return [=](int64_t step) { return half_cosine(base, low, ratio(step, steps)); };
}

Schedule warmup(int64_t steps, Schedule after, double start) {
  check_steps("warmup", steps);
  check<ValueError>(after != nullptr,
                    "warmup: there is no schedule to go on with: an empty function. Pass one.");
  return [=, after = std::move(after)](int64_t step) {
    if (step >= steps) return after(step - steps);
    return after(0) * (start + (1 - start) * ratio(step, steps));
  };
}

Schedule warmup_cosine(double base, double low, int64_t warmup_steps, int64_t total_steps) {
  check<ValueError>(0 <= warmup_steps && warmup_steps < total_steps,
                    "warmup_cosine: the warm-up does not end before the whole: ", warmup_steps,
                    " of ", total_steps, " steps. Use 0 <= warmup_steps < total_steps.");
  return [=](int64_t step) {
    if (step < warmup_steps) return base * ratio(step + 1, warmup_steps + 1);
    if (step > total_steps) return low;
    return half_cosine(base, low, ratio(step - warmup_steps, total_steps - warmup_steps));
  };
}

}  // namespace plimsoll::optim
