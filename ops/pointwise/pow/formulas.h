// The formulas and constants of pow.h, for the kernels of all devices.
#pragma once

#include <limits>

#include "ops/common/formula.h"

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

// x^c, with the products and roots that the CPU has too. On a GPU every thread takes the same way.
struct ConstantPower {
  static constexpr const char *name = "pow", *grad_name = "pow_grad";
  using Constants = PowAttrs;
  template <class C>
  static constexpr C power(C x, C exponent) {
    if (exponent == 0) return 1;
    if (exponent == 1) return x;
    if (exponent == 2) return x * x;
    if (exponent == 3) return x * x * x;
    if (exponent == -1) return 1 / x;
    if (exponent == C(0.5)) return power_of_half(x);
    if (exponent == C(-0.5)) return 1 / power_of_half(x);
    return std::pow(x, exponent);
  }
  template <class C>
  static constexpr C f(C x, const PowAttrs& a) {
    return power(x, static_cast<C>(a.exponent));
  }
  template <class C>
  static constexpr C grad(C dy, C x, const PowAttrs& a) {
    return dy * static_cast<C>(a.exponent) * power(x, static_cast<C>(a.exponent - 1));
  }
};

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
