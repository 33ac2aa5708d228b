#include "optim/plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace plimsoll::optim {

Plateau::Plateau(double base, const PlateauOptions& options)
    : options_(options), rate_(base), best_(std::numeric_limits<double>::infinity()) {
  const PlateauOptions& o = options_;
  check<ValueError>(0 < o.factor && o.factor < 1, "plateau: the factor is out of range: ", o.factor,
                    ". Use one between 0 and 1.");
  check<ValueError>(
      o.patience >= 0 && o.cooldown >= 0 && o.threshold >= 0 && o.lowest >= 0 && o.eps >= 0,
      "plateau: an option is not a number from 0: patience ", o.patience, ", cooldown ", o.cooldown,
      ", threshold ", o.threshold, ", lowest ", o.lowest, ", eps ", o.eps, ". Use 0 or more.");
}

double Plateau::observe(double metric) {
  // The share of |best|, so that negative metrics can make progress too.
  const bool first = std::isinf(best_);
  if (first ? metric < best_ : metric < best_ - options_.threshold * std::abs(best_)) {
    best_ = metric;
    without_progress_ = 0;
  } else {
    ++without_progress_;
  }
  if (cooling_ > 0) {
    --cooling_;
    without_progress_ = 0;
  }
  if (without_progress_ > options_.patience) {
    const double next = std::max(rate_ * options_.factor, options_.lowest);
    if (rate_ - next > options_.eps) rate_ = next;
    cooling_ = options_.cooldown;
    without_progress_ = 0;
  }
  return rate_;
}

}  // namespace plimsoll::optim
