#include "ops/adagrad_update/adagrad_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

template <class C>
struct AdagradStep {
  C rate, l2, eps;

  AdagradStep(const AdagradUpdate& o, double lr, double t)
      : rate(static_cast<C>(lr / (1 + (t - 1) * o.lr_decay))),
        l2(static_cast<C>(o.weight_decay)),
        eps(static_cast<C>(o.eps)) {}

  C operator()(C p, C grad, C& sum) const {
    const C g = grad + l2 * p;
    sum += g * g;
    return p - rate * g / (std::sqrt(sum) + eps);
  }
};

struct Adagrad {
  static constexpr const char* name = "adagrad_update";
  static constexpr std::array slots{"sum of squares"};
  using Options = AdagradUpdate;
  template <class C>
  using Step = AdagradStep<C>;
};

}  // namespace

void check_options(const char* op, const AdagradUpdate& o) {
  check_number(op, "lr_decay", o.lr_decay);
  check_number(op, "eps", o.eps);
  check_number(op, "weight_decay", o.weight_decay);
}

void adagrad_update(const Tensor& param, const Tensor& grad, const Tensor& sum, const Tensor& step,
                    const Tensor& lr, const AdagradUpdate& options, const Tensor& skip) {
  update<Adagrad>(param, grad, step, lr, options, skip, sum);
}

extern const std::vector<const OpDef*> adagrad_update_ops;
const std::vector<const OpDef*> adagrad_update_ops{&Update<Adagrad>::op};

}  // namespace plimsoll
