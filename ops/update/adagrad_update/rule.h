// The rule of Adagrad, as the drivers of ops/common/update.h and ops/common/update.cuh run it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/adagrad_update/adagrad_update.h"

namespace plimsoll::update_rules {

template <class C>
struct AdagradStep {
  C rate, l2, eps;

  constexpr AdagradStep(const AdagradUpdate& o, double lr, double t)
      : rate(static_cast<C>(lr / (1 + (t - 1) * o.lr_decay))),
        l2(static_cast<C>(o.weight_decay)),
        eps(static_cast<C>(o.eps)) {}

  constexpr C operator()(C p, C grad, C& sum) const {
    const C g = grad + l2 * p;
    sum += g * g;
    return p - rate * g / (std::sqrt(sum) + eps);
  }
};

struct Adagrad {
  static constexpr const char* name = "adagrad_update";
  static constexpr std::array slots{"sum of squares"};
  using Options = AdagradUpdate;
  template <class C>
  using Step = AdagradStep<C>;
};

}  // namespace plimsoll::update_rules
