// Learning-rate schedules: functions of the step, counted from 0.
//
//   optim::Schedule rate = optim::warmup_cosine(1e-3, 1e-4, 100, 2000);
//   optimizer.set_learning_rate(rate(optimizer.steps_made()));
//
// Steps are updates that were made: one that a loss scaler skips does not count. Nothing is
// remembered between calls: rate(17) is rate(17). Any function from int64_t to double is a
// schedule. All refuse (ValueError) step counts below 1 where they divide by them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll::optim {

using Schedule = std::function<double(int64_t step)>;

// base
Schedule constant(double base);

// base * factor^floor(step / every)                      PyTorch's StepLR
Schedule step_decay(double base, int64_t every, double factor);

// base * factor^(milestones passed: those <= step)       PyTorch's MultiStepLR
Schedule multi_step(double base, std::vector<int64_t> milestones, double factor);

// base * factor^step                                     PyTorch's ExponentialLR
Schedule exponential(double base, double factor);

// base (1 - step / steps)^power, 0 from `steps` on       PyTorch's PolynomialLR
Schedule polynomial(double base, int64_t steps, double power = 1);

struct CycleHeights {
  double each_cycle = 1;  // of a cycle, as a share of the one before; PyTorch's "triangular2": 0.5
  double each_step = 1;   // as a share of that at the step before: gamma of "exp_range"
};

// Up from low to high in a line over `up` steps, down again over `down`, and so on. (Smith 2017,
// PyTorch's CyclicLR, "triangular") What lies above `low` shrinks by `heights`.
Schedule cyclic(double low, double high, int64_t up, int64_t down,
                const CycleHeights& heights = {});

// low + (base - low) (1 + cos(pi step / steps)) / 2      PyTorch's CosineAnnealingLR: reaches `low`
// after `steps` and then rises again, with a period of 2 * steps. (Loshchilov and Hutter 2017)
Schedule cosine(double base, double low, int64_t steps);

// Half cosines from base down to `low`, the first `steps` long and each one `growth` times as long
// as the one before. (SGDR: Loshchilov and Hutter 2017, PyTorch's CosineAnnealingWarmRestarts)
// ValueError for growth < 1.
Schedule cosine_restarts(double base, double low, int64_t steps, int64_t growth = 1);

struct OneCycle {
  double rising = 0.3;        // share of the steps
  double start_divisor = 25;  // begins at highest / start_divisor
  double end_divisor = 1e4;   // ends at that, / end_divisor
  bool linear = false;        // in lines, not in half cosines
  bool three_phase = false;   // falls to where it began as fast as it rose, then to the end
};

// Up to `highest` and down again, over total_steps, in half cosines or lines; then the last value.
// (Smith and Topin 2018, PyTorch's OneCycleLR) ValueError unless up and down have steps.
Schedule one_cycle(double highest, int64_t total_steps, const OneCycle& shape = {});

// The first `steps` steps rise in a line from start * after(0) to after(0), where `after` begins:
// after(0) (start + (1 - start) step / steps), then after(step - steps). Like PyTorch's LinearLR
// followed by any other. ValueError for an empty `after`.
Schedule warmup(int64_t steps, Schedule after, double start = 0);

// nanoGPT's get_lr: base (step + 1) / (warmup_steps + 1) while step < warmup_steps, then half a
// cosine from base down to `low` at total_steps, then `low`. ValueError unless 0 <= warmup_steps <
// total_steps.
Schedule warmup_cosine(double base, double low, int64_t warmup_steps, int64_t total_steps);

}  // namespace plimsoll::optim
