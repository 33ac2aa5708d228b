#include "ops/kl_div/kl_div.h"

#include "core/math.h"
#include "ops/pointwise_loss.h"

namespace plimsoll {
namespace {

// x is log p.
struct Kl {
  static constexpr const char *name = "kl_div", *dx_name = "kl_div_dx", *dt_name = "kl_div_dt";
  template <class T>
  static T f(T x, T t, T) {
    const T loss = t * (math::log(t) - x);
    return t == 0 ? T(0) : loss;
  }
  template <class T>
  static T dx(T, T t, T) {
    return -t;
  }
  template <class T>
  static T dt(T x, T t, T) {
    return math::log(t) - x + 1;
  }
};

// t is the target's logarithm.
struct KlLog {
  static constexpr const char *name = "kl_div_log", *dx_name = "kl_div_log_dx",
                              *dt_name = "kl_div_log_dt";
  template <class T>
  static T f(T x, T t, T) {
    const T e = math::exp(t), loss = e * (t - x);
    return e == 0 ? T(0) : loss;
  }
  template <class T>
  static T dx(T, T t, T) {
    return -math::exp(t);
  }
  template <class T>
  static T dt(T x, T t, T) {
    const T e = math::exp(t), slope = e * (t - x + 1);
    return e == 0 ? T(0) : slope;
  }
};

}  // namespace

Tensor kl_div(const Tensor& log_p, const Tensor& target, const KlDivOptions& options) {
  return reduce(options.log_target ? PointwiseLoss<KlLog>::apply(log_p, target)
                                   : PointwiseLoss<Kl>::apply(log_p, target),
                options.reduction);
}

extern const std::vector<const OpDef*> kl_div_ops;
const std::vector<const OpDef*> kl_div_ops{
    &PointwiseLoss<Kl>::op,    &PointwiseLoss<Kl>::grad<0>,    &PointwiseLoss<Kl>::grad<1>,
    &PointwiseLoss<KlLog>::op, &PointwiseLoss<KlLog>::grad<0>, &PointwiseLoss<KlLog>::grad<1>};

}  // namespace plimsoll
