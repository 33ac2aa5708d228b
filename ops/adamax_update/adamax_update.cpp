#include "ops/adamax_update/adamax_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

template <class C>
struct AdamaxStep {
  C rate, beta1, rest1, beta2, eps, l2;

  AdamaxStep(const AdamaxUpdate& o, double lr, double t)
      : rate(static_cast<C>(lr / (1 - std::pow(o.beta1, t)))),
        beta1(static_cast<C>(o.beta1)),
        rest1(static_cast<C>(1 - o.beta1)),
        beta2(static_cast<C>(o.beta2)),
        eps(static_cast<C>(o.eps)),
        l2(static_cast<C>(o.weight_decay)) {}

  C operator()(C p, C grad, C& m, C& u) const {
    const C g = grad + l2 * p;
    m = beta1 * m + rest1 * g;
    u = std::max(beta2 * u, std::abs(g) + eps);
    return p - rate * m / u;
  }
};

struct Adamax {
  static constexpr const char* name = "adamax_update";
  static constexpr std::array slots{"first moment", "largest gradient"};
  using Options = AdamaxUpdate;
  template <class C>
  using Step = AdamaxStep<C>;
};

}  // namespace

void check_options(const char* op, const AdamaxUpdate& o) {
  check_share(op, "beta1", o.beta1);
  check_share(op, "beta2", o.beta2);
  check_number(op, "eps", o.eps);
  check_number(op, "weight_decay", o.weight_decay);
}

void adamax_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& u,
                   const Tensor& step, const Tensor& lr, const AdamaxUpdate& options,
                   const Tensor& skip) {
  update<Adamax>(param, grad, step, lr, options, skip, m, u);
}

extern const std::vector<const OpDef*> adamax_update_ops;
const std::vector<const OpDef*> adamax_update_ops{&Update<Adamax>::op};

}  // namespace plimsoll
