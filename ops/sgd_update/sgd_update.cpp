#include "ops/sgd_update/sgd_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

template <class C>
struct SgdStep {
  C lr, l2, beta, gain;
  bool nesterov;

  SgdStep(const SgdUpdate& o, double rate, double t)
      : lr(static_cast<C>(rate)),
        l2(static_cast<C>(o.weight_decay)),
        beta(static_cast<C>(o.momentum)),
        gain(static_cast<C>(t == 1 ? 1 : 1 - o.damping)),
        nesterov(o.nesterov) {}

  C operator()(C p, C grad) const { return p - lr * (grad + l2 * p); }
  C operator()(C p, C grad, C& velocity) const {
    const C g = grad + l2 * p;
    velocity = beta * velocity + gain * g;
    return p - lr * (nesterov ? g + beta * velocity : velocity);
  }
};

struct Plain {
  static constexpr const char* name = "sgd_update";
  static constexpr std::array<const char*, 0> slots{};
  using Options = SgdUpdate;
  template <class C>
  using Step = SgdStep<C>;
};

struct Momentum : Plain {
  static constexpr std::array slots{"velocity"};
};

}  // namespace

void check_options(const char* op, const SgdUpdate& o) {
  check_number(op, "momentum", o.momentum);
  check_number(op, "weight_decay", o.weight_decay);
  check<ValueError>(o.damping >= 0 && o.damping <= 1, op, ": damping is out of range: ", o.damping,
                    ". Use 0 <= damping <= 1.");
  check<ValueError>(!o.nesterov || (o.momentum > 0 && o.damping == 0), op,
                    ": nesterov needs momentum and no damping: got momentum ", o.momentum,
                    " and damping ", o.damping, ". Set momentum, to 0.9 for example.");
}

void sgd_update(const Tensor& param, const Tensor& grad, const Tensor& velocity, const Tensor& step,
                const Tensor& lr, const SgdUpdate& options, const Tensor& skip) {
  check<ValueError>(velocity.defined() == (options.momentum != 0), Plain::name,
                    ": a velocity goes with momentum: momentum ", options.momentum,
                    velocity.defined() ? " with a velocity" : " without a velocity",
                    ". Pass both or neither.");
  if (velocity.defined())
    update<Momentum>(param, grad, step, lr, options, skip, velocity);
  else
    update<Plain>(param, grad, step, lr, options, skip);
}

extern const std::vector<const OpDef*> sgd_update_ops;
const std::vector<const OpDef*> sgd_update_ops{&Update<Plain>::op, &Update<Momentum>::op};

}  // namespace plimsoll
