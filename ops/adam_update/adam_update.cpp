#include "ops/adam_update/adam_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

template <class C>
struct AdamStep {
  C rate, unbias, shrink, l2, beta1, beta2, rest1, rest2, eps;

  AdamStep(const AdamUpdate& o, double lr, double t)  // in double: the same for all elements
      : rate(static_cast<C>(lr / (1 - std::pow(o.beta1, t)))),
        unbias(static_cast<C>(1 / std::sqrt(1 - std::pow(o.beta2, t)))),
        shrink(static_cast<C>(o.decoupled ? 1 - lr * o.weight_decay : 1)),
        l2(static_cast<C>(o.decoupled ? 0 : o.weight_decay)),
        beta1(static_cast<C>(o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        rest1(static_cast<C>(1 - o.beta1)),
        rest2(static_cast<C>(1 - o.beta2)),
        eps(static_cast<C>(o.eps)) {}

  // Moves the moments; returns the new parameter, for a second moment chosen by `choose`.
  template <class Choose>
  C move(C p, C grad, C& m, C& v, Choose choose) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return p * shrink - rate * m / (std::sqrt(choose(v)) * unbias + eps);
  }
  C operator()(C p, C g, C& m, C& v) const {
    return move(p, g, m, v, [](C second) { return second; });
  }
  C operator()(C p, C g, C& m, C& v, C& highest) const {
    return move(p, g, m, v, [&](C second) { return highest = std::max(highest, second); });
  }
};

struct Adam {
  static constexpr const char* name = "adam_update";
  static constexpr std::array slots{"first moment", "second moment"};
  using Options = AdamUpdate;
  template <class C>
  using Step = AdamStep<C>;
};

struct Amsgrad : Adam {
  static constexpr const char* name = "amsgrad_update";
  static constexpr std::array slots{"first moment", "second moment", "highest second moment"};
};

}  // namespace

void check_options(const char* op, const AdamUpdate& o) {
  check_share(op, "beta1", o.beta1);
  check_share(op, "beta2", o.beta2);
  check_number(op, "eps", o.eps);
  check_number(op, "weight_decay", o.weight_decay);
}

void adam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                 const Tensor& step, const Tensor& lr, const AdamUpdate& options,
                 const Tensor& highest, const Tensor& skip) {
  if (highest.defined())
    update<Amsgrad>(param, grad, step, lr, options, skip, m, v, highest);
  else
    update<Adam>(param, grad, step, lr, options, skip, m, v);
}

extern const std::vector<const OpDef*> adam_update_ops;
const std::vector<const OpDef*> adam_update_ops{&Update<Adam>::op, &Update<Amsgrad>::op};

}  // namespace plimsoll
