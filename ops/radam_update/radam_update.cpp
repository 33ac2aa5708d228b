#include "ops/radam_update/radam_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

template <class C>
struct RadamStep {
  C rate, scale, beta1, rest1, beta2, rest2, eps, l2;
  bool rectified;

  RadamStep(const RadamUpdate& o, double lr, double t)
      : rate(static_cast<C>(lr / (1 - std::pow(o.beta1, t)))),
        beta1(static_cast<C>(o.beta1)),
        rest1(static_cast<C>(1 - o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        rest2(static_cast<C>(1 - o.beta2)),
        eps(static_cast<C>(o.eps)),
        l2(static_cast<C>(o.weight_decay)) {
    const double power = std::pow(o.beta2, t), longest = 2 / (1 - o.beta2) - 1;
    const double length = longest - 2 * t * power / (1 - power);
    rectified = length > 5;
    const double square =
        (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length);
    scale = static_cast<C>(rectified ? std::sqrt(square * (1 - power)) : 0);
  }

  C operator()(C p, C grad, C& m, C& v) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return p - rate * m * (rectified ? scale / (std::sqrt(v) + eps) : C(1));
  }
};

struct Radam {
  static constexpr const char* name = "radam_update";
  static constexpr std::array slots{"first moment", "second moment"};
  using Options = RadamUpdate;
  template <class C>
  using Step = RadamStep<C>;
};

}  // namespace

void check_options(const char* op, const RadamUpdate& o) {
  check_share(op, "beta1", o.beta1);
  check_share(op, "beta2", o.beta2);
  check_number(op, "eps", o.eps);
  check_number(op, "weight_decay", o.weight_decay);
}

void radam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                  const Tensor& step, const Tensor& lr, const RadamUpdate& options,
                  const Tensor& skip) {
  update<Radam>(param, grad, step, lr, options, skip, m, v);
}

extern const std::vector<const OpDef*> radam_update_ops;
const std::vector<const OpDef*> radam_update_ops{&Update<Radam>::op};

}  // namespace plimsoll
