// How fast something goes: of the last seconds, as what is fast now may have been slow an hour ago.
//
//   RecentRate rate(steps_made_before);
//   rate.at(seconds, step, images);         // again and again
//   rate.per_second();                      // images
//   rate.seconds_for(steps - step);         // so long that many steps more would take
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace plimsoll::train {

class RecentRate {
 public:
  static constexpr double kRecent = 5, kApart = 0.05;  // seconds; of moments that are kept

  explicit RecentRate(int64_t step = 0) : kept_{{0, step, 0}}, now_(kept_.front()) {}

  // After so many seconds, which never fall, there were so many steps, and so much in them.
  void at(double seconds, int64_t step, int64_t amount) {
    now_ = {seconds, step, amount};
    while (kept_.size() > 1 && kept_[1].seconds <= seconds - kRecent) kept_.pop_front();
    since_ = kept_.front();
    if (seconds - kept_.back().seconds > kApart) kept_.push_back(now_);
  }

  double per_second() const { return static_cast<double>(now_.amount - since_.amount) / took(); }
  double seconds_for(int64_t steps) const {
    const int64_t made = std::max<int64_t>(now_.step - since_.step, 1);
    return took() / static_cast<double>(made) * static_cast<double>(steps);
  }

 private:
  struct Moment {
    double seconds = 0;
    int64_t step = 0, amount = 0;
  };
  double took() const { return std::max(now_.seconds - since_.seconds, 1e-9); }

  std::deque<Moment> kept_;  // the first was kRecent ago or more, or is the beginning
  Moment now_, since_;
};

}  // namespace plimsoll::train
