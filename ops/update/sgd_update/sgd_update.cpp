#include "ops/update/sgd_update/sgd_update.h"

#include "ops/common/update.h"
#include "ops/update/sgd_update/rule.h"

namespace plimsoll {

using namespace update_rules;

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
  check<ValueError>(velocity.defined() == (options.momentum != 0), Sgd::name,
                    ": a velocity goes with momentum: momentum ", options.momentum,
                    velocity.defined() ? " with a velocity" : " without a velocity",
                    ". Pass both or neither.");
  if (velocity.defined())
    update<SgdMomentum>(param, grad, step, lr, options, skip, velocity);
  else
    update<Sgd>(param, grad, step, lr, options, skip);
}

extern const std::vector<const OpDef*> sgd_update_ops{&Update<Sgd>::op, &Update<SgdMomentum>::op};

}  // namespace plimsoll
