// The formulas of regression_loss, for the kernels of all devices
// (ops/loss/common/pointwise_loss.h).
#pragma once

#include <cmath>

namespace plimsoll::loss_formulas {

// A function of the difference d: the gradients differ in sign.
template <class F>
struct OfDifference {
  template <class T>
  static constexpr T f(T x, T t, T p) {
    return F::of(x - t, p);
  }
  template <class T>
  static constexpr T dx(T x, T t, T p) {
    return F::slope(x - t, p);
  }
  template <class T>
  static constexpr T dt(T x, T t, T p) {
    return -F::slope(x - t, p);
  }
};

struct Mse : OfDifference<Mse> {
  static constexpr const char *name = "mse_loss", *dx_name = "mse_loss_dx",
                              *dt_name = "mse_loss_dt";
  template <class T>
  static constexpr T of(T d, T) {
    return d * d;
  }
  template <class T>
  static constexpr T slope(T d, T) {
    return 2 * d;
  }
};

struct L1 : OfDifference<L1> {
  static constexpr const char *name = "l1_loss", *dx_name = "l1_loss_dx", *dt_name = "l1_loss_dt";
  template <class T>
  static constexpr T of(T d, T) {
    return std::abs(d);
  }
  template <class T>
  static constexpr T slope(T d, T) {
    const T positive = d > 0 ? T(1) : T(0);
    return d < 0 ? T(-1) : positive;
  }
};

// d between -p and p; NaN stays.
template <class T>
constexpr T within(T d, T p) {
  const T raised = d < -p ? -p : d;
  return raised > p ? p : raised;
}

struct SmoothL1 : OfDifference<SmoothL1> {
  static constexpr const char *name = "smooth_l1_loss", *dx_name = "smooth_l1_loss_dx",
                              *dt_name = "smooth_l1_loss_dt";
  template <class T>
  static constexpr T of(T d, T beta) {
    const T a = std::abs(d);
    const T inside = T(0.5) * d * d / beta, outside = a - T(0.5) * beta;
    return a < beta ? inside : outside;
  }
  template <class T>
  static constexpr T slope(T d, T beta) {
    return within(d, beta) / beta;
  }
};

struct Huber : OfDifference<Huber> {
  static constexpr const char *name = "huber_loss", *dx_name = "huber_loss_dx",
                              *dt_name = "huber_loss_dt";
  template <class T>
  static constexpr T of(T d, T delta) {
    const T a = std::abs(d);
    const T inside = T(0.5) * d * d, outside = delta * (a - T(0.5) * delta);
    return a <= delta ? inside : outside;
  }
  template <class T>
  static constexpr T slope(T d, T delta) {
    return within(d, delta);
  }
};

}  // namespace plimsoll::loss_formulas
