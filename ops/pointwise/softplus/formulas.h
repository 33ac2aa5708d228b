// softplus as a formula, for the kernels of all devices.
#pragma once

#include "core/base/math.h"
#include "ops/common/formula.h"

namespace plimsoll::formulas {

struct Softplus {
  static constexpr const char *name = "softplus", *grad_name = "softplus_grad";
  static constexpr CastRule cast = CastRule::full;
  // The output would do too, but 1 - exp(-y) cancels where y is small.
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return (x > 0 ? x : T(0)) + math::log_one_plus(math::exp(x < 0 ? x : -x));
  }
  template <class T>
  static constexpr T df(T x) {
    return math::sigmoid(x);
  }
};

}  // namespace plimsoll::formulas
