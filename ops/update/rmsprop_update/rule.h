// The rule of RMSProp, as the drivers of ops/common/update.h and ops/common/update.cuh run it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/rmsprop_update/rmsprop_update.h"

namespace plimsoll::update_rules {

// The state after `square` is mean and velocity, as far as they are kept.
template <class C, bool kCentred, bool kMomentum>
struct RmspropStep {
  C rate, alpha, rest, eps, momentum, l2;

  constexpr RmspropStep(const RmspropUpdate& o, double lr, double)
      : rate(static_cast<C>(lr)),
        alpha(static_cast<C>(o.alpha)),
        rest(static_cast<C>(1 - o.alpha)),
        eps(static_cast<C>(o.eps)),
        momentum(static_cast<C>(o.momentum)),
        l2(static_cast<C>(o.weight_decay)) {}

  constexpr C operator()(C p, C grad, C& square) const {
    return step(p, grad, square, square, square);
  }
  constexpr C operator()(C p, C grad, C& square, C& other) const {
    return step(p, grad, square, other, other);
  }
  constexpr C operator()(C p, C grad, C& square, C& mean, C& velocity) const {
    return step(p, grad, square, mean, velocity);
  }

  constexpr C step(C p, C grad, C& square, [[maybe_unused]] C& mean,
                   [[maybe_unused]] C& velocity) const {
    const C g = grad + l2 * p;
    square = alpha * square + rest * g * g;
    C variance = square;
    if constexpr (kCentred) {
      mean = alpha * mean + rest * g;
      // Rounded, the difference may fall below 0 where gradients hardly change.
      variance = std::max(variance - mean * mean, C(0));
    }
    C d = g / (std::sqrt(variance) + eps);
    if constexpr (kMomentum) d = velocity = momentum * velocity + d;
    return p - rate * d;
  }
};

template <bool kCentred, bool kMomentum>
struct Rmsprop {
  static constexpr const char* name = "rmsprop_update";
  static constexpr auto slots = [] {
    if constexpr (kCentred && kMomentum)
      return std::array{"mean square", "mean", "velocity"};
    else if constexpr (kCentred)
      return std::array{"mean square", "mean"};
    else if constexpr (kMomentum)
      return std::array{"mean square", "velocity"};
    else
      return std::array{"mean square"};
  }();
  using Options = RmspropUpdate;
  template <class C>
  using Step = RmspropStep<C, kCentred, kMomentum>;
};

}  // namespace plimsoll::update_rules
