// The formulas of bce_with_logits, for the kernels of all devices (ops/pointwise_loss.h).
#pragma once

#include "core/math.h"

namespace plimsoll::loss_formulas {

// -t log sigmoid(x) - (1 - t) log sigmoid(-x) = max(x, 0) - x t + log(1 + e^-|x|)
struct Bce {
  static constexpr const char *name = "bce_with_logits", *dx_name = "bce_with_logits_dx",
                              *dt_name = "bce_with_logits_dt";
  template <class T>
  static constexpr T f(T x, T t, T) {
    return ((x > 0 ? x : T(0)) - x * t) + math::log_one_plus(math::exp(x < 0 ? x : -x));
  }
  template <class T>
  static constexpr T dx(T x, T t, T) {
    return math::sigmoid(x) - t;
  }
  template <class T>
  static constexpr T dt(T x, T, T) {
    return -x;
  }
};

// p t softplus(-x) + (1 - t) softplus(x), p weighing the answers yes.
struct BceWeighted {
  template <class T>
  static constexpr T f(T x, T t, T p) {
    const T rest = math::log_one_plus(math::exp(x < 0 ? x : -x));
    const T yes = (x < 0 ? -x : 0) + rest, no = (x > 0 ? x : 0) + rest;
    return p * t * yes + (1 - t) * no;
  }
};

}  // namespace plimsoll::loss_formulas
