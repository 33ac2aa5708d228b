// The rule of Adamax, as the drivers of ops/common/update.h and ops/common/update.cuh run it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/adamax_update/adamax_update.h"

namespace plimsoll::update_rules {

template <class C>
struct AdamaxStep {
  C rate, beta1, rest1, beta2, eps, l2;

  constexpr AdamaxStep(const AdamaxUpdate& o, double lr, double t)
      : rate(static_cast<C>(lr / (1 - std::pow(o.beta1, t)))),
        beta1(static_cast<C>(o.beta1)),
        rest1(static_cast<C>(1 - o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        eps(static_cast<C>(o.eps)),
        l2(static_cast<C>(o.weight_decay)) {}

  constexpr C operator()(C p, C grad, C& m, C& u) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    u = std::max(beta2 * u, std::abs(g) + eps);
    return p - rate * m / u;
  }
};

struct Adamax {
  static constexpr const char* name = "adamax_update";
  static constexpr std::array slots{"first moment", "largest gradient"};
  using Options = AdamaxUpdate;
  template <class C>
  using Step = AdamaxStep<C>;
};

}  // namespace plimsoll::update_rules
