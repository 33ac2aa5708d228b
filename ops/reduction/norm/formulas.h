// |x|^p, its sum's root, and the derivative of the root: for the kernels of all devices.
#pragma once

#include <cmath>

namespace plimsoll::formulas {

struct One {
  static constexpr double term(double x, double) { return std::abs(x); }
  static constexpr double root(double total, double) { return total; }
  static constexpr double slope(double x, double, double) { return x > 0 ? 1 : (x < 0 ? -1 : x); }
};
struct Two {
  static constexpr double term(double x, double) { return x * x; }
  static constexpr double root(double total, double) { return std::sqrt(total); }
  static constexpr double slope(double x, double y, double) { return y == 0 ? 0 : x / y; }
};
struct General {
  static constexpr double term(double x, double p) { return std::pow(std::abs(x), p); }
  static constexpr double root(double total, double p) { return std::pow(total, 1 / p); }
  static constexpr double slope(double x, double y, double p) {
    return x == 0 ? 0 : std::copysign(std::pow(std::abs(x) / y, p - 1), x);
  }
};

template <class F>
constexpr auto with_p(double p, const F& f) {
  if (p == 1) return f(One());
  if (p == 2) return f(Two());
  return f(General());
}

}  // namespace plimsoll::formulas
