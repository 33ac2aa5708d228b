// The rule of RAdam, as the drivers of ops/common/update.h and ops/common/update.cuh run it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/radam_update/radam_update.h"

namespace plimsoll::update_rules {

template <class C>
struct RadamStep {
  C rate, scale, beta1, rest1, beta2, rest2, eps, l2;
  bool rectified;

  constexpr RadamStep(const RadamUpdate& o, double lr, double t)
      : rate(static_cast<C>(lr / (1 - std::pow(o.beta1, t)))),
        beta1(static_cast<C>(o.beta1)),
        rest1(static_cast<C>(1 - o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        rest2(static_cast<C>(1 - o.beta2)),
        eps(static_cast<C>(o.eps)),
        l2(static_cast<C>(o.weight_decay)) {
    const double power = std::pow(o.beta2, t), longest = 2 / (1 - o.beta2) - 1;
    const double length = longest - 2 * t * power / (1 - power);
    rectified = length > 5;
    const double square =
        (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length);
    scale = static_cast<C>(rectified ? std::sqrt(square * (1 - power)) : 0);
  }

  constexpr C operator()(C p, C grad, C& m, C& v) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return p - rate * m * (rectified ? scale / (std::sqrt(v) + eps) : C(1));
  }
};

struct Radam {
  static constexpr const char* name = "radam_update";
  static constexpr std::array slots{"first moment", "second moment"};
  using Options = RadamUpdate;
  template <class C>
  using Step = RadamStep<C>;
};

}  // namespace plimsoll::update_rules
