// The activations as formulas, for the kernels of all devices: see Unary in ops/common/pointwise.h.
#pragma once

#include "core/base/math.h"
#include "ops/common/formula.h"

namespace plimsoll::formulas {

// Constants are compared by their bits: a program with a NaN in it equals itself.
struct SlopeAttrs {
  double slope;
  bool operator==(const SlopeAttrs& other) const {
    return std::bit_cast<uint64_t>(slope) == std::bit_cast<uint64_t>(other.slope);
  }
};

struct LeakyRelu {
  static constexpr const char *name = "leaky_relu", *grad_name = "leaky_relu_grad";
  static constexpr bool light = true;
  static constexpr Reads reads = Reads::input;
  using Constants = SlopeAttrs;
  template <class T>
  static constexpr T f(T x, const SlopeAttrs& a) {
    return x > 0 ? x : static_cast<T>(a.slope) * x;
  }
  template <class T>
  static constexpr T grad(T dy, T x, const SlopeAttrs& a) {
    return x > 0 ? dy : static_cast<T>(a.slope) * dy;
  }
};

struct Elu {
  static constexpr const char *name = "elu", *grad_name = "elu_grad";
  static constexpr Reads reads = Reads::input;
  using Constants = SlopeAttrs;  // of the tangent at 0 from below: alpha
  template <class T>
  static constexpr T f(T x, const SlopeAttrs& a) {
    return x > 0 ? x : static_cast<T>(a.slope) * math::expm1(x);
  }
  template <class T>
  static constexpr T df(T x, const SlopeAttrs& a) {
    return x > 0 ? T(1) : static_cast<T>(a.slope) * math::exp(x);
  }
};

struct Selu {
  static constexpr const char *name = "selu", *grad_name = "selu_grad";
  static constexpr Reads reads = Reads::input;
  static constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;
  template <class T>
  static constexpr T f(T x) {
    return x > 0 ? T(kScale) * x : T(kScale * kAlpha) * math::expm1(x);
  }
  template <class T>
  static constexpr T df(T x) {
    return x > 0 ? T(kScale) : T(kScale * kAlpha) * math::exp(x);
  }
};

struct Silu {
  static constexpr const char *name = "silu", *grad_name = "silu_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return x * math::sigmoid(x);
  }
  // s (1 - s) = e / (1 + e)^2 with e = exp(-|x|): 1 - s itself would cancel for large x.
  template <class T>
  static constexpr T df(T x) {
    const T e = math::exp(-std::abs(x)), large = 1 / (1 + e);
    return (x < 0 ? e * large : large) + x * (e * large * large);
  }
};

// With e = exp(-|x|), tanh(log(1 + exp(x))) is (1 + 2e) / d with d = 1 + 2e + 2e^2 where x > 0, and
// (2e + e^2) / d with d = 2 + 2e + e^2 where x < 0. Its derivative is 4 e^2 (1 + e) / d^2, and
// 4 e (1 + e) / d^2.
struct Mish {
  static constexpr const char *name = "mish", *grad_name = "mish_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    const T e = math::exp(-std::abs(x));
    const T above = 1 + 2 * e, below = e * (2 + e);
    return x * (x > 0 ? above / (above + 2 * e * e) : below / (below + 2));
  }
  template <class T>
  static constexpr T df(T x) {
    const T e = math::exp(-std::abs(x));
    const T above = 1 + 2 * e, below = e * (2 + e);
    const T reciprocal = 1 / (x > 0 ? above + 2 * e * e : below + 2);
    const T t = (x > 0 ? above : below) * reciprocal;
    return t + x * (4 * e * (1 + e) * (x > 0 ? e : T(1)) * reciprocal * reciprocal);
  }
};

struct Hardsigmoid {
  static constexpr const char *name = "hardsigmoid", *grad_name = "hardsigmoid_grad";
  static constexpr bool light = true;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return x <= -3 ? T(0) : (x >= 3 ? T(1) : (x + 3) / 6);
  }
  template <class T>
  static constexpr T grad(T dy, T x) {
    return x > -3 && x < 3 ? dy / 6 : T(0);
  }
};

struct Hardswish {
  static constexpr const char *name = "hardswish", *grad_name = "hardswish_grad";
  static constexpr bool light = true;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return x <= -3 ? T(0) : (x >= 3 ? x : x * (x + 3) / 6);
  }
  template <class T>
  static constexpr T grad(T dy, T x) {
    const T between = dy * (x / 3 + T(0.5));
    return x < -3 ? T(0) : (x >= 3 ? dy : between);
  }
};

struct LogSigmoid {
  static constexpr const char *name = "log_sigmoid", *grad_name = "log_sigmoid_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return (x < 0 ? x : T(0)) - math::log_one_plus(math::exp(x < 0 ? x : -x));
  }
  template <class T>
  static constexpr T df(T x) {
    return math::sigmoid(-x);
  }
};

}  // namespace plimsoll::formulas
