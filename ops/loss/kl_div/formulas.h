// The formulas of kl_div, for the kernels of all devices (ops/loss/common/pointwise_loss.h).
#pragma once

#include "core/base/math.h"

namespace plimsoll::loss_formulas {

// x is log p.
struct Kl {
  static constexpr const char *name = "kl_div", *dx_name = "kl_div_dx", *dt_name = "kl_div_dt";
  template <class T>
  static constexpr T f(T x, T t, T) {
    const T loss = t * (math::log(t) - x);
    return t == 0 ? T(0) : loss;
  }
  template <class T>
  static constexpr T dx(T, T t, T) {
    return -t;
  }
  template <class T>
  static constexpr T dt(T x, T t, T) {
    return math::log(t) - x + 1;
  }
};

// t is the target's logarithm.
struct KlLog {
  static constexpr const char *name = "kl_div_log", *dx_name = "kl_div_log_dx",
                              *dt_name = "kl_div_log_dt";
  template <class T>
  static constexpr T f(T x, T t, T) {
    const T e = math::exp(t), loss = e * (t - x);
    return e == 0 ? T(0) : loss;
  }
  template <class T>
  static constexpr T dx(T, T t, T) {
    return -math::exp(t);
  }
  template <class T>
  static constexpr T dt(T x, T t, T) {
    const T e = math::exp(t), slope = e * (t - x + 1);
    return e == 0 ? T(0) : slope;
  }
};

}  // namespace plimsoll::loss_formulas
