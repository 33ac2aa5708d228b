// The formulas and constants of arithmetic.h, for the kernels of all devices.
#pragma once

#include "ops/common/formula.h"

namespace plimsoll {

namespace formulas {

// Integers wrap around, which only unsigned ones may do in C++; u8 is promoted to int, whose low
// bits are the same.
template <class T, bool = std::is_integral_v<T>>
struct Wrapping {
  using Type = T;
};
template <class T>
struct Wrapping<T, true> {
  using Type = std::make_unsigned_t<T>;
};
template <class T>
using Modular = typename Wrapping<T>::Type;

struct Add {
  static constexpr const char* name = "add";
  static constexpr Types types = Types::numbers;
  template <class T>
  static constexpr T f(T a, T b) {
    return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
  }
};
struct Sub {
  static constexpr const char* name = "sub";
  static constexpr Types types = Types::numbers;
  template <class T>
  static constexpr T f(T a, T b) {
    return static_cast<T>(static_cast<Modular<T>>(a) - static_cast<Modular<T>>(b));
  }
};
struct Mul {
  static constexpr const char* name = "mul";
  static constexpr Types types = Types::numbers;
  template <class T>
  static constexpr T f(T a, T b) {
    return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b));
  }
};
struct Div {
  static constexpr const char* name = "div";
  template <class T>
  static constexpr T f(T a, T b) {
    return a / b;
  }
};
struct DivTrunc {  // f is of floating types, integer_quotient of the others
  static constexpr const char* name = "div_trunc";
  static constexpr Types types = Types::numbers;
  template <class T>
  static constexpr T f(T a, T b) {
    return std::trunc(a / b);
  }
};

// b is not 0. -1 apart: the quotient of the smallest integer wraps around, where the processor
// would trap.
template <class T>
constexpr T integer_quotient(T a, T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? Sub::f(T(0), a) : static_cast<T>(a / b);
}

}  // namespace formulas

// What integer division says on any device.
[[noreturn]] inline void fail_divided_by_zero(int64_t dividend) {
  fail<ValueError>("div_trunc: an integer is divided by zero: ", dividend,
                   " / 0. Mask zeros out of the divisor.");
}

inline bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Constants are compared by their bits: a program with a NaN in it equals itself.
struct AffineAttrs {
  double scale, shift;
  bool operator==(const AffineAttrs& other) const {
    return same_bits(scale, other.scale) && same_bits(shift, other.shift);
  }
};

struct DivideAttrs {
  double divisor;
  bool operator==(const DivideAttrs& other) const { return same_bits(divisor, other.divisor); }
};

namespace formulas {

struct Affine {
  static constexpr const char* name = "affine";
  static constexpr bool light = true;
  using Constants = AffineAttrs;
  template <class T>
  static constexpr T f(T x, const AffineAttrs& a) {
    return static_cast<T>(a.scale) * x + static_cast<T>(a.shift);
  }
};
// A true division: the reciprocal of a constant may be infinite, or rounded, where x / c is not.
struct Divide {
  static constexpr const char* name = "divide";
  using Constants = DivideAttrs;
  template <class T>
  static constexpr T f(T x, const DivideAttrs& a) {
    return x / static_cast<T>(a.divisor);
  }
};

}  // namespace formulas

}  // namespace plimsoll
