#include "ops/math/math.h"

#include "core/cpu/math.h"
#include "ops/pointwise.h"

namespace plimsoll {
namespace {

struct Exp {
  static constexpr const char *name = "exp", *grad_name = "exp_grad";
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

template <class F>
Tensor unary(const Tensor& x) {
  return apply1(Unary<F>::op, {contiguous(x)});
}

}  // namespace

Tensor exp(const Tensor& x) { return unary<Exp>(x); }
Tensor log(const Tensor& x) { return unary<Log>(x); }
Tensor sqrt(const Tensor& x) { return unary<Sqrt>(x); }
Tensor square(const Tensor& x) { return unary<Square>(x); }
Tensor tanh(const Tensor& x) { return unary<Tanh>(x); }
Tensor sigmoid(const Tensor& x) { return unary<Sigmoid>(x); }

extern const std::vector<const OpDef*> math_ops;
const std::vector<const OpDef*> math_ops{
    &Unary<Exp>::op,  &Unary<Exp>::grad,  &Unary<Log>::op,     &Unary<Log>::grad,
    &Unary<Sqrt>::op, &Unary<Sqrt>::grad, &Unary<Square>::op,  &Unary<Square>::grad,
    &Unary<Tanh>::op, &Unary<Tanh>::grad, &Unary<Sigmoid>::op, &Unary<Sigmoid>::grad};

}  // namespace plimsoll
