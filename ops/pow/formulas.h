// The formulas and constants of pow.h, for the kernels of all devices.
#pragma once

#include <limits>

#include "ops/formula.h"

namespace plimsoll {

// Constants are compared by their bits: a program with a NaN in it equals itself.
struct PowAttrs {
  double exponent;
  bool operator==(const PowAttrs& other) const {
    return std::bit_cast<uint64_t>(exponent) == std::bit_cast<uint64_t>(other.exponent);
  }
};

namespace formulas {

// sqrt(|x|) only differs from sqrt(x) where std::pow has rules of its own: pow(-0, 0.5) = 0 and
// pow(-inf, 0.5) = inf.
template <class C>
constexpr C power_of_half(C x) {
  const bool bare = x < 0 && x > -std::numeric_limits<C>::infinity();
  const C r = std::sqrt(std::abs(x));
  return bare ? std::numeric_limits<C>::quiet_NaN() : r;
}

struct Power {
  static constexpr const char* name = "pow";
  template <class T>
  static constexpr T f(T a, T b) {
    return std::pow(a, b);
  }
};
struct PowerByBase {
  static constexpr const char* name = "pow_base_grad";
  template <class T>
  static constexpr T f(T a, T b) {
    return b == 0 ? T(0) : b * std::pow(a, b - 1);
  }
};
struct PowerByExponent {
  static constexpr const char* name = "pow_exponent_grad";
  template <class T>
  static constexpr T f(T a, T b) {
    return a == 0 && b >= 0 ? T(0) : std::pow(a, b) * std::log(a);
  }
};

}  // namespace formulas
}  // namespace plimsoll
