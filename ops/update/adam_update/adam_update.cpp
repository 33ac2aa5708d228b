#include "ops/update/adam_update/adam_update.h"

#include "ops/common/update.h"
#include "ops/update/adam_update/rule.h"

namespace plimsoll {

using namespace update_rules;

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

extern const std::vector<const OpDef*> adam_update_ops{&Update<Adam>::op, &Update<Amsgrad>::op};

}  // namespace plimsoll
