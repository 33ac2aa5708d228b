// EarlyStop: training ends when evaluations have not become better for a while.
//
//   EarlyStop stop(/*patience=*/5);
//   const bool best = stop.observe(score.loss.value());
//   if (stop.reached()) break;
//   state.number("stop.best", stop.best).number("stop.waited", stop.waited);
#pragma once

#include <cstdint>
#include <limits>

namespace plimsoll::train {

struct EarlyStop {
  explicit EarlyStop(int64_t evaluations) : patience(evaluations) {}

  // Whether `loss` is lower than all before; NaN never is.
  bool observe(double loss) {
    const bool better = loss < best;
    if (better) best = loss;
    waited = better ? 0 : waited + 1;
    return better;
  }
  bool reached() const { return patience > 0 && waited >= patience; }

  int64_t patience;  // evaluations without a better one; 0: for ever
  double best = std::numeric_limits<double>::infinity();
  int64_t waited = 0;
};

}  // namespace plimsoll::train
