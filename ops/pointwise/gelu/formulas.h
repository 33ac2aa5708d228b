// gelu and gelu_tanh as formulas, for the kernels of all devices (see gelu.h).
#pragma once

#include <numbers>

#include "core/base/math.h"
#include "ops/common/formula.h"

namespace plimsoll::formulas {

inline constexpr double kSqrtHalf = std::numbers::sqrt2 / 2;
inline constexpr double kInvSqrt2Pi = kSqrtHalf * std::numbers::inv_sqrtpi;  // 1 / sqrt(2 pi)
inline constexpr double kSqrt2OverPi =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
inline constexpr double kCubic = 0.044715;

struct Gelu {
  static constexpr const char *name = "gelu", *grad_name = "gelu_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T cdf(T x) {
    return T(0.5) * (1 + math::erf(x * T(kSqrtHalf)));
  }
  template <class T>
  static constexpr T f(T x) {
    return x * cdf(x);
  }
  // Phi(x) + x Phi'(x), where Phi' is the normal density.
  template <class T>
  static constexpr T df(T x) {
    return cdf(x) + x * T(kInvSqrt2Pi) * math::exp_of_negative(T(-0.5) * x * x);
  }
};

struct GeluTanh {
  static constexpr const char *name = "gelu_tanh", *grad_name = "gelu_tanh_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T inner(T x) {
    return math::tanh(T(kSqrt2OverPi) * (x + T(kCubic) * x * x * x));
  }
  template <class T>
  static constexpr T f(T x) {
    return T(0.5) * x * (1 + inner(x));
  }
  template <class T>
  static constexpr T df(T x) {
    const T t = inner(x);
    const T slope = T(kSqrt2OverPi) * (1 + T(3 * kCubic) * x * x);  // of what tanh is taken of
    return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * slope;
  }
};

}  // namespace plimsoll::formulas
