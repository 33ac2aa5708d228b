// The formulas and constants of extrema.h, for the kernels of all devices.
#pragma once

#include "ops/formula.h"

namespace plimsoll {

namespace formulas {

struct Maximum {
  static constexpr const char* name = "maximum";
  template <class T>
  static constexpr T f(T a, T b) {  // b is taken when b is NaN: nothing is larger
    return a > b || a != a ? a : b;
  }
};

struct Minimum {
  static constexpr const char* name = "minimum";
  template <class T>
  static constexpr T f(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

// What u gets of dy when the larger of u and v was taken.
template <class C>
constexpr C share_of_larger(C dy, C u, C v) {
  const C kept = u == v ? dy / 2 : dy;
  return u < v ? C(0) : kept;
}

template <class C>
constexpr C clamp(C x, C low, C high) {
  const C raised = x < low ? low : x;
  return raised > high ? high : raised;
}

}  // namespace formulas

struct ClampAttrs {
  double low, high;
  bool operator==(const ClampAttrs&) const = default;
};

}  // namespace plimsoll
