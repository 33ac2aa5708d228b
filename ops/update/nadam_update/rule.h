// The rule of NAdam, as the drivers of ops/common/update.h and ops/common/update.cuh run it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/nadam_update/nadam_update.h"

namespace plimsoll::update_rules {

constexpr double momentum(const NadamUpdate& o, double t) {
  return o.beta1 * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay));
}

// M_t, multiplied in the order of t, until it is so small that 1 - M_t is 1.
constexpr double momentum_product(const NadamUpdate& o, double t) {
  double product = 1;
  for (double k = 1; k <= t && product > 1e-17; ++k) product *= momentum(o, k);
  return product;
}

template <class C>
struct NadamStep {
  C of_gradient, of_moment, unbias, beta1, rest1, beta2, rest2, eps, l2;

  constexpr NadamStep(const NadamUpdate& o, double lr, double t)
      : unbias(static_cast<C>(1 / std::sqrt(1 - std::pow(o.beta2, t)))),
        beta1(static_cast<C>(o.beta1)),
        rest1(static_cast<C>(1 - o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        rest2(static_cast<C>(1 - o.beta2)),
        eps(static_cast<C>(o.eps)),
        l2(static_cast<C>(o.weight_decay)) {
    const double mu = momentum(o, t), next = momentum(o, t + 1), product = momentum_product(o, t);
    of_gradient = static_cast<C>(lr * (1 - mu) / (1 - product));
    of_moment = static_cast<C>(lr * next / (1 - product * next));
  }

  constexpr C operator()(C p, C grad, C& m, C& v) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return p - (of_gradient * g + of_moment * m) / (std::sqrt(v) * unbias + eps);
  }
};

struct Nadam {
  static constexpr const char* name = "nadam_update";
  static constexpr std::array slots{"first moment", "second moment"};
  using Options = NadamUpdate;
  template <class C>
  using Step = NadamStep<C>;
};

}  // namespace plimsoll::update_rules
