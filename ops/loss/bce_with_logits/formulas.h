// The formulas of bce_with_logits, for the kernels of all devices
// (ops/loss/common/pointwise_loss.h).
#pragma once

#include "core/base/math.h"

namespace plimsoll::loss_formulas {

// What an infinite loss that counts 0 times adds is 0, not NaN.
template <class T>
constexpr T counted(T weight, T loss) {
  return weight == 0 ? T(0) : weight * loss;
}

// -t log sigmoid(x) - (1 - t) log sigmoid(-x) = |x| miss + log(1 + e^-|x|), where miss is how far
// the target is from what the sign of x says.
struct Bce {
  static constexpr const char *name = "bce_with_logits", *dx_name = "bce_with_logits_dx",
                              *dt_name = "bce_with_logits_dt";
  template <class T>
  static constexpr T f(T x, T t, T) {
    const T less = x < 0 ? x : -x, miss = x > 0 ? 1 - t : t;
    return counted(miss, -less) + math::log_one_plus(math::exp(less));
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
    return counted(p * t, yes) + counted(1 - t, no);
  }
};

}  // namespace plimsoll::loss_formulas
