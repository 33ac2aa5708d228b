// The formulas and constants of extrema.h, for the kernels of all devices.
#pragma once

#include "ops/common/formula.h"

namespace plimsoll {

namespace formulas {

struct Maximum {
  static constexpr const char* name = "maximum";
  static constexpr Types types = Types::any;
  template <class T>
  static constexpr T f(T a, T b) {  // b is taken when b is NaN: nothing is larger
    return a > b || a != a ? a : b;
  }
};

struct Minimum {
  static constexpr const char* name = "minimum";
  static constexpr Types types = Types::any;
  template <class T>
  static constexpr T f(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

// What u gets of dy when the larger of u and v was taken.
struct ShareOfLarger {
  static constexpr const char* name = "share_of_larger";
  template <class C>
  static constexpr C f(C dy, C u, C v) {
    const C kept = u == v ? dy / 2 : dy;
    return u < v ? C(0) : kept;
  }
};

}  // namespace formulas

struct ClampAttrs {
  double low, high;
  bool operator==(const ClampAttrs&) const = default;
};

namespace formulas {

struct Clamp {
  static constexpr const char *name = "clamp", *grad_name = "clamp_grad";
  static constexpr bool light = true;
  using Constants = ClampAttrs;
  template <class C>
  static constexpr C f(C x, const ClampAttrs& a) {
    const C low = static_cast<C>(a.low), high = static_cast<C>(a.high);
    const C raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
  template <class C>
  static constexpr C grad(C dy, C x, const ClampAttrs& a) {
    return x >= static_cast<C>(a.low) && x <= static_cast<C>(a.high) ? dy : C(0);
  }
};

}  // namespace formulas

}  // namespace plimsoll
