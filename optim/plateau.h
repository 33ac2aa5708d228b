// Plateau: a learning rate that falls when a metric no longer gets better.
//
//   optim::Plateau rate(0.1, {.factor = 0.5, .patience = 3});
//   optimizer.set_learning_rate(rate.observe(validation_loss));       // once an epoch
#pragma once

#include <cstdint>

namespace plimsoll::optim {

struct PlateauOptions {
  double factor = 0.1;      // what the rate is multiplied with; 0 < factor < 1
  int64_t patience = 10;    // observations without progress that are borne
  double threshold = 1e-4;  // progress is a fall by more than this share of the best
  int64_t cooldown = 0;     // observations after a fall of the rate that do not count
  double lowest = 0;        // the rate falls no further
  double eps = 1e-8;        // a fall by this or less is left out
};

// PyTorch's ReduceLROnPlateau for a metric that should fall; negate one that should rise. Unlike a
// Schedule it remembers: the best metric and how long ago it was. A metric that is NaN is no
// progress.
class Plateau {
 public:
  // ValueError for options out of their range.
  explicit Plateau(double base, const PlateauOptions& options = {});

  double observe(double metric);         // the rate from now on
  double rate() const { return rate_; }  // the same, without an observation

 private:
  PlateauOptions options_;
  double rate_, best_;
  int64_t without_progress_ = 0, cooling_ = 0;
};

}  // namespace plimsoll::optim
