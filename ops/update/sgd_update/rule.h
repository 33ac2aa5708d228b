// The rule of gradient descent, without and with momentum, as the drivers of ops/common/update.h
// and ops/common/update.cuh run it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/sgd_update/sgd_update.h"

namespace plimsoll::update_rules {

template <class C>
struct SgdStep {
  C lr, l2, beta, gain;
  bool nesterov;

  constexpr SgdStep(const SgdUpdate& o, double rate, double t)
      : lr(static_cast<C>(rate)),
        l2(static_cast<C>(o.weight_decay)),
        beta(static_cast<C>(o.momentum)),
        gain(static_cast<C>(t == 1 ? 1 : 1 - o.damping)),
        nesterov(o.nesterov) {}

  constexpr C operator()(C p, C grad) const { return p - lr * (grad + l2 * p); }
  constexpr C operator()(C p, C grad, C& velocity) const {
    const C g = grad + l2 * p;
    velocity = beta * velocity + gain * g;
    return p - lr * (nesterov ? g + beta * velocity : velocity);
  }
};

struct Sgd {
  static constexpr const char* name = "sgd_update";
  static constexpr std::array<const char*, 0> slots{};
  using Options = SgdUpdate;
  template <class C>
  using Step = SgdStep<C>;
};

struct SgdMomentum : Sgd {
  static constexpr std::array slots{"velocity"};
};

}  // namespace plimsoll::update_rules
