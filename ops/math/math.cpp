#include "ops/math/math.h"

#include <numbers>

#include "core/cpu/math.h"
#include "ops/pointwise.h"

namespace plimsoll {
namespace {

struct Exp {
  static constexpr const char *name = "exp", *grad_name = "exp_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::output;
  template <class T>
  static T f(T x) {
    return math::exp(x);
  }
  template <class T>
  static T df(T y) {
    return y;
  }
};

struct Log {
  static constexpr const char *name = "log", *grad_name = "log_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::input;
  template <class T>
  static T f(T x) {
    return math::log(x);
  }
  template <class T>
  static T df(T x) {
    return 1 / x;
  }
};

struct Sqrt {
  static constexpr const char *name = "sqrt", *grad_name = "sqrt_grad";
  static constexpr Reads reads = Reads::output;
  template <class T>
  static T f(T x) {
    return std::sqrt(x);
  }
  template <class T>
  static T df(T y) {
    return T(0.5) / y;
  }
};

struct Square {
  static constexpr const char *name = "square", *grad_name = "square_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static T f(T x) {
    return x * x;
  }
  template <class T>
  static T df(T x) {
    return 2 * x;
  }
};

struct Tanh {
  static constexpr const char *name = "tanh", *grad_name = "tanh_grad";
  static constexpr Reads reads = Reads::output;
  template <class T>
  static T f(T x) {
    return math::tanh(x);
  }
  template <class T>
  static T df(T y) {
    return 1 - y * y;
  }
};

struct Sigmoid {
  static constexpr const char *name = "sigmoid", *grad_name = "sigmoid_grad";
  static constexpr Reads reads = Reads::output;
  template <class T>
  static T f(T x) {
    return math::sigmoid(x);
  }
  template <class T>
  static T df(T y) {
    return y * (1 - y);
  }
};

struct Abs {
  static constexpr const char *name = "abs", *grad_name = "abs_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static T f(T x) {
    return std::abs(x);
  }
  template <class T>
  static T grad(T dy, T x) {
    return x > 0 ? dy : (x < 0 ? -dy : T(0));
  }
};

struct Rsqrt {
  static constexpr const char *name = "rsqrt", *grad_name = "rsqrt_grad";
  static constexpr CastRule cast = CastRule::full;
  static constexpr Reads reads = Reads::output;
  template <class T>
  static T f(T x) {
    return 1 / std::sqrt(x);
  }
  template <class T>
  static T df(T y) {
    return T(-0.5) * y * y * y;
  }
};

struct Sin {
  static constexpr const char *name = "sin", *grad_name = "sin_grad";
  static constexpr Reads reads = Reads::input;
  static constexpr float reach = math::kSinReach;
  template <class T>
  static T f(T x) {
    return math::sin(x);
  }
  template <class T>
  static T df(T x) {
    return math::cos(x);
  }
};

struct Cos {
  static constexpr const char *name = "cos", *grad_name = "cos_grad";
  static constexpr Reads reads = Reads::input;
  static constexpr float reach = math::kSinReach;
  template <class T>
  static T f(T x) {
    return math::cos(x);
  }
  template <class T>
  static T df(T x) {
    return -math::sin(x);
  }
};

struct Erf {
  static constexpr const char *name = "erf", *grad_name = "erf_grad";
  static constexpr Reads reads = Reads::input;
  template <class T>
  static T f(T x) {
    return math::erf(x);
  }
  template <class T>
  static T df(T x) {
    return T(2 * std::numbers::inv_sqrtpi) * math::exp(-x * x);
  }
};

struct Sign {
  static constexpr const char* name = "sign";
  template <class T>
  static T f(T x) {
    return x > 0 ? T(1) : (x < 0 ? T(-1) : x);
  }
};

// The derivative is 0 wherever there is one: an undefined gradient says so without a kernel.
constexpr OpDef sign_op{.name = "sign",
                        .infer = Unary<Sign>::infer,
                        .cpu = Unary<Sign>::cpu,
                        .vjp = [](const Backward&) { return std::vector<Tensor>(1); },
                        .inplace = 0};

}  // namespace

Tensor exp(const Tensor& x) { return unary<Exp>(x); }
Tensor log(const Tensor& x) { return unary<Log>(x); }
Tensor sqrt(const Tensor& x) { return unary<Sqrt>(x); }
Tensor rsqrt(const Tensor& x) { return unary<Rsqrt>(x); }
Tensor square(const Tensor& x) { return unary<Square>(x); }
Tensor tanh(const Tensor& x) { return unary<Tanh>(x); }
Tensor sigmoid(const Tensor& x) { return unary<Sigmoid>(x); }
Tensor erf(const Tensor& x) { return unary<Erf>(x); }
Tensor sin(const Tensor& x) { return unary<Sin>(x); }
Tensor cos(const Tensor& x) { return unary<Cos>(x); }
Tensor abs(const Tensor& x) { return unary<Abs>(x); }
Tensor sign(const Tensor& x) { return apply1(sign_op, {contiguous(x)}); }

extern const std::vector<const OpDef*> math_ops;
const std::vector<const OpDef*> math_ops{
    &Unary<Exp>::op,     &Unary<Exp>::grad,     &Unary<Log>::op,   &Unary<Log>::grad,
    &Unary<Sqrt>::op,    &Unary<Sqrt>::grad,    &Unary<Rsqrt>::op, &Unary<Rsqrt>::grad,
    &Unary<Square>::op,  &Unary<Square>::grad,  &Unary<Tanh>::op,  &Unary<Tanh>::grad,
    &Unary<Sigmoid>::op, &Unary<Sigmoid>::grad, &Unary<Erf>::op,   &Unary<Erf>::grad,
    &Unary<Sin>::op,     &Unary<Sin>::grad,     &Unary<Cos>::op,   &Unary<Cos>::grad,
    &Unary<Abs>::op,     &Unary<Abs>::grad,     &sign_op};

}  // namespace plimsoll
