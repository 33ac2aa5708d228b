// The functions of math.h as formulas, for the kernels of all devices: see Unary in
// ops/common/pointwise.h.
#pragma once

#include <numbers>

#include "core/base/math.h"
#include "ops/common/formula.h"

namespace plimsoll::formulas {

struct Exp {
  static constexpr const char *name = "exp", *grad_name = "exp_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::output;
  template <class T>
  static constexpr T f(T x) {
    return math::exp(x);
  }
  template <class T>
  static constexpr T df(T y) {
    return y;
  }
};

struct Log {
  static constexpr const char *name = "log", *grad_name = "log_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return math::log(x);
  }
  template <class T>
  static constexpr T df(T x) {
    return 1 / x;
  }
};

struct Sqrt {
  static constexpr const char *name = "sqrt", *grad_name = "sqrt_grad";
  static constexpr Reads reads = Reads::output;
  template <class T>
  static constexpr T f(T x) {
    return std::sqrt(x);
  }
  template <class T>
  static constexpr T df(T y) {
    return T(0.5) / y;
  }
};

struct Square {
  static constexpr const char *name = "square", *grad_name = "square_grad";
  static constexpr bool light = true;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return x * x;
  }
  template <class T>
  static constexpr T df(T x) {
    return 2 * x;
  }
};

struct Tanh {
  static constexpr const char *name = "tanh", *grad_name = "tanh_grad";
  static constexpr Reads reads = Reads::output;
  template <class T>
  static constexpr T f(T x) {
    return math::tanh(x);
  }
  template <class T>
  static constexpr T df(T y) {
    return 1 - y * y;
  }
};

struct Sigmoid {
  static constexpr const char *name = "sigmoid", *grad_name = "sigmoid_grad";
  static constexpr Reads reads = Reads::output;
  template <class T>
  static constexpr T f(T x) {
    return math::sigmoid(x);
  }
  template <class T>
  static constexpr T df(T y) {
    return y * (1 - y);
  }
};

struct Abs {
  static constexpr const char *name = "abs", *grad_name = "abs_grad";
  static constexpr bool light = true;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return std::abs(x);
  }
  template <class T>
  static constexpr T grad(T dy, T x) {
    return x > 0 ? dy : (x < 0 ? -dy : T(0));
  }
};

struct Rsqrt {
  static constexpr const char *name = "rsqrt", *grad_name = "rsqrt_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::output;
  template <class T>
  static constexpr T f(T x) {
    return 1 / std::sqrt(x);
  }
  template <class T>
  static constexpr T df(T y) {
    return T(-0.5) * y * y * y;
  }
};

struct Sin {
  static constexpr const char *name = "sin", *grad_name = "sin_grad";
  static constexpr Reads reads = Reads::input;
  static constexpr float reach = math::kSinReach;
  template <class T>
  static constexpr T f(T x) {
    return math::sin(x);
  }
  template <class T>
  static constexpr T df(T x) {
    return math::cos(x);
  }
};

struct Cos {
  static constexpr const char *name = "cos", *grad_name = "cos_grad";
  static constexpr Reads reads = Reads::input;
  static constexpr float reach = math::kSinReach;
  template <class T>
  static constexpr T f(T x) {
    return math::cos(x);
  }
  template <class T>
  static constexpr T df(T x) {
    return -math::sin(x);
  }
};

struct Erf {
  static constexpr const char *name = "erf", *grad_name = "erf_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static constexpr T f(T x) {
    return math::erf(x);
  }
  template <class T>
  static constexpr T df(T x) {
    return T(2 * std::numbers::inv_sqrtpi) * math::exp(-x * x);
  }
};

struct Sign {
  static constexpr const char* name = "sign";
  static constexpr bool light = true;
  template <class T>
  static constexpr T f(T x) {
    return x > 0 ? T(1) : (x < 0 ? T(-1) : x);
  }
};

}  // namespace plimsoll::formulas
