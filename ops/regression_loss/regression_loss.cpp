#include "ops/regression_loss/regression_loss.h"

#include <cmath>

#include "ops/pointwise_loss.h"

namespace plimsoll {
namespace {

// A function of the difference d: the gradients differ in sign.
template <class F>
struct OfDifference {
  template <class T>
  static T f(T x, T t, T p) {
    return F::of(x - t, p);
  }
  template <class T>
  static T dx(T x, T t, T p) {
    return F::slope(x - t, p);
  }
  template <class T>
  static T dt(T x, T t, T p) {
    return -F::slope(x - t, p);
  }
};

struct Mse : OfDifference<Mse> {
  static constexpr const char *name = "mse_loss", *dx_name = "mse_loss_dx",
                              *dt_name = "mse_loss_dt";
  template <class T>
  static T of(T d, T) {
    return d * d;
  }
  template <class T>
  static T slope(T d, T) {
    return 2 * d;
  }
};

struct L1 : OfDifference<L1> {
  static constexpr const char *name = "l1_loss", *dx_name = "l1_loss_dx", *dt_name = "l1_loss_dt";
  template <class T>
  static T of(T d, T) {
    return std::abs(d);
  }
  template <class T>
  static T slope(T d, T) {
    const T positive = d > 0 ? T(1) : T(0);
    return d < 0 ? T(-1) : positive;
  }
};

// d between -p and p; NaN stays.
template <class T>
T within(T d, T p) {
  const T raised = d < -p ? -p : d;
  return raised > p ? p : raised;
}

struct SmoothL1 : OfDifference<SmoothL1> {
  static constexpr const char *name = "smooth_l1_loss", *dx_name = "smooth_l1_loss_dx",
                              *dt_name = "smooth_l1_loss_dt";
  template <class T>
  static T of(T d, T beta) {
    const T a = std::abs(d);
    const T inside = T(0.5) * d * d / beta, outside = a - T(0.5) * beta;
    return a < beta ? inside : outside;
  }
  template <class T>
  static T slope(T d, T beta) {
    return within(d, beta) / beta;
  }
};

struct Huber : OfDifference<Huber> {
  static constexpr const char *name = "huber_loss", *dx_name = "huber_loss_dx",
                              *dt_name = "huber_loss_dt";
  template <class T>
  static T of(T d, T delta) {
    const T a = std::abs(d);
    const T inside = T(0.5) * d * d, outside = delta * (a - T(0.5) * delta);
    return a <= delta ? inside : outside;
  }
  template <class T>
  static T slope(T d, T delta) {
    return within(d, delta);
  }
};

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduce(PointwiseLoss<Mse>::apply(x, target), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduce(PointwiseLoss<L1>::apply(x, target), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta, Reduction reduction) {
  check<ValueError>(std::isfinite(beta) && beta >= 0,
                    "smooth_l1_loss: beta is not a number from 0: ", beta,
                    ". Use the distance up to which the loss is quadratic.");
  if (static_cast<float>(beta) == 0) return l1_loss(x, target, reduction);
  return reduce(PointwiseLoss<SmoothL1>::apply(x, target, beta), reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  check<ValueError>(std::isfinite(delta) && delta > 0,
                    "huber_loss: delta is not a number above 0: ", delta,
                    ". Use the distance up to which the loss is quadratic.");
  return reduce(PointwiseLoss<Huber>::apply(x, target, delta), reduction);
}

extern const std::vector<const OpDef*> regression_loss_ops;
const std::vector<const OpDef*> regression_loss_ops{
    &PointwiseLoss<Mse>::op,           &PointwiseLoss<Mse>::grad<0>,
    &PointwiseLoss<Mse>::grad<1>,      &PointwiseLoss<L1>::op,
    &PointwiseLoss<L1>::grad<0>,       &PointwiseLoss<L1>::grad<1>,
    &PointwiseLoss<SmoothL1>::op,      &PointwiseLoss<SmoothL1>::grad<0>,
    &PointwiseLoss<SmoothL1>::grad<1>, &PointwiseLoss<Huber>::op,
    &PointwiseLoss<Huber>::grad<0>,    &PointwiseLoss<Huber>::grad<1>};

}  // namespace plimsoll
