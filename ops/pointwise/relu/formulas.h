// relu as a formula, for the kernels of all devices.
#pragma once

#include "ops/common/formula.h"

namespace plimsoll::formulas {

struct Relu {
  static constexpr const char *name = "relu", *grad_name = "relu_grad";
  static constexpr Reads reads = Reads::output;
  static constexpr bool light = true;
  template <class T>
  static constexpr T f(T x) {
    return x <= 0 ? T(0) : x;  // NaN stays, -0 becomes 0
  }
  template <class T>
  static constexpr T grad(T dy, T y) {  // not a product: infinity times 0 is no number
    return y > 0 ? dy : T(0);
  }
};

}  // namespace plimsoll::formulas
