#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"

namespace plimsoll::optim {
namespace {

void check_steps(const char* name, int64_t steps) {
  check<ValueError>(steps >= 1, name, ": the number of steps is too small: ", steps,
                    ". Use 1 or more.");
}

// From `base` at t = 0 to `low` at t = 1.
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

Schedule multi_step(double base, std::vector<int64_t> milestones, double factor) {
  return [=, milestones = std::move(milestones)](int64_t step) {
    const auto passed = std::ranges::count_if(milestones, [&](int64_t m) { return m <= step; });
    return base * std::pow(factor, static_cast<double>(passed));
  };
}

Schedule exponential(double base, double factor) {
  return [=](int64_t step) { return base * std::pow(factor, static_cast<double>(step)); };
}

Schedule polynomial(double base, int64_t steps, double power) {
  check_steps("polynomial", steps);
  return
      [=](int64_t step) { return base * std::pow(1 - ratio(std::min(step, steps), steps), power); };
}

Schedule cyclic(double low, double high, int64_t up, int64_t down, const CycleHeights& heights) {
  check_steps("cyclic", up);
  check_steps("cyclic", down);
  return [=](int64_t step) {
    const int64_t at = step % (up + down);
    const double height = (high - low) *
                          std::pow(heights.each_cycle, static_cast<double>(step / (up + down))) *
                          std::pow(heights.each_step, static_cast<double>(step));
    return low + height * (at <= up ? ratio(at, up) : ratio(up + down - at, down));
  };
}

Schedule cosine(double base, double low, int64_t steps) {
  check_steps("cosine", steps);
  return [=](int64_t step) { return half_cosine(base, low, ratio(step, steps)); };
}

Schedule cosine_restarts(double base, double low, int64_t steps, int64_t growth) {
  check_steps("cosine_restarts", steps);
  check<ValueError>(growth >= 1, "cosine_restarts: the growth is too small: ", growth,
                    ". Use 1 or more.");
  return [=](int64_t step) {
    int64_t length = steps, at = step;
    if (growth == 1) at %= steps;
    while (at >= length) {
      at -= length;
      length *= growth;
    }
    return half_cosine(base, low, ratio(at, length));
  };
}

Schedule one_cycle(double highest, int64_t total_steps, const OneCycle& shape) {
  const double last = static_cast<double>(total_steps) - 1;
  const double top = shape.rising * static_cast<double>(total_steps) - 1;  // need not be a step
  const double foot = shape.three_phase ? 2 * top : last;
  check<ValueError>(0 < top && top < last && foot <= last,
                    "one_cycle: one part has no steps: ", shape.rising, " of ", total_steps,
                    " steps rise. Use more steps.");
  check<ValueError>(shape.start_divisor > 0 && shape.end_divisor > 0,
                    "one_cycle: a divisor is not positive: ", shape.start_divisor, " and ",
                    shape.end_divisor, ". Use 25 and 1e4.");
  const double start = highest / shape.start_divisor, end = start / shape.end_divisor;
  return [=](int64_t step) {
    const double at = std::min(static_cast<double>(step), last);
    const auto between = [&](double from, double to, double share) {
      return shape.linear ? from + (to - from) * share : half_cosine(from, to, share);
    };
    if (at <= top) return between(start, highest, at / top);
    if (at <= foot)
      return between(highest, shape.three_phase ? start : end, (at - top) / (foot - top));
    return between(start, end, (at - foot) / (last - foot));
  };
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
