// Learning-rate schedules: functions of the step, counted from 0.
//
//   optim::Schedule rate = optim::warmup_cosine(1e-3, 1e-4, 100, 2000);
//   optimizer.set_learning_rate(rate(step));
//
// Nothing is remembered between calls: rate(17) is rate(17). Any function from int64_t to double is
// a schedule. All refuse (ValueError) step counts below 1 where they divide by them.
#pragma once

#include <cstdint>
#include <functional>

namespace plimsoll::optim {

using Schedule = std::function<double(int64_t step)>;

// base
Schedule constant(double base);

// base * factor^floor(step / every)                      PyTorch's StepLR
Schedule step_decay(double base, int64_t every, double factor);

// low + (base - low) (1 + cos(pi step / steps)) / 2      PyTorch's CosineAnnealingLR: reaches `low`
// after `steps` and then rises again, with a period of 2 * steps. (Loshchilov and Hutter 2017)
Schedule cosine(double base, double low, int64_t steps);

// The first `steps` steps rise in a line from start * after(0) to after(0), where `after` begins:
// after(0) (start + (1 - start) step / steps), then after(step - steps). Like PyTorch's LinearLR
// followed by any other. ValueError for an empty `after`.
Schedule warmup(int64_t steps, Schedule after, double start = 0);

// nanoGPT's get_lr: base (step + 1) / (warmup_steps + 1) while step < warmup_steps, then half a
// cosine from base down to `low` at total_steps, then `low`. ValueError unless 0 <= warmup_steps <
// total_steps.
Schedule warmup_cosine(double base, double low, int64_t warmup_steps, int64_t total_steps);

}  // namespace plimsoll::optim
