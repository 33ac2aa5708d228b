// The rule of Adam and AMSGrad, as the drivers of ops/common/update.h and ops/common/update.cuh run
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/update/adam_update/adam_update.h"

namespace plimsoll::update_rules {

template <class C>
struct AdamStep {
  C rate, unbias, shrink, l2, beta1, beta2, rest1, rest2, eps;

  constexpr AdamStep(const AdamUpdate& o, double lr,
                     double t)  // in double: the same for all elements
      : rate(static_cast<C>(lr / (1 - std::pow(o.beta1, t)))),
        unbias(static_cast<C>(1 / std::sqrt(1 - std::pow(o.beta2, t)))),
        shrink(static_cast<C>(o.decoupled ? 1 - lr * o.weight_decay : 1)),
        l2(static_cast<C>(o.decoupled ? 0 : o.weight_decay)),
        beta1(static_cast<C>(o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        rest1(static_cast<C>(1 - o.beta1)),
        rest2(static_cast<C>(1 - o.beta2)),
        eps(static_cast<C>(o.eps)) {}

  // Moves the moments; returns the new parameter, for a second moment chosen by `choose`.
  template <class Choose>
  constexpr C move(C p, C grad, C& m, C& v, Choose choose) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return p * shrink - rate * m / (std::sqrt(choose(v)) * unbias + eps);
  }
  constexpr C operator()(C p, C g, C& m, C& v) const {
    return move(p, g, m, v, [](C second) { return second; });
  }
  constexpr C operator()(C p, C g, C& m, C& v, C& highest) const {
    return move(p, g, m, v, [&](C second) { return highest = std::max(highest, second); });
  }
};

struct Adam {
  static constexpr const char* name = "adam_update";
  static constexpr std::array slots{"first moment", "second moment"};
  using Options = AdamUpdate;
  template <class C>
  using Step = AdamStep<C>;
};

struct Amsgrad : Adam {
  static constexpr const char* name = "amsgrad_update";
  static constexpr std::array slots{"first moment", "second moment", "highest second moment"};
};

}  // namespace plimsoll::update_rules
