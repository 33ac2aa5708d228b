#include "ops/update/nadam_update/nadam_update.h"

#include "ops/common/update.h"
#include "ops/update/nadam_update/rule.h"

namespace plimsoll {

using namespace update_rules;

void check_options(const char* op, const NadamUpdate& o) {
  check_share(op, "beta1", o.beta1);
  check_share(op, "beta2", o.beta2);
  check_number(op, "eps", o.eps);
  check_number(op, "momentum_decay", o.momentum_decay);
  check_number(op, "weight_decay", o.weight_decay);
}

void nadam_update(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v,
                  const Tensor& step, const Tensor& lr, const NadamUpdate& options,
                  const Tensor& skip) {
  update<Nadam>(param, grad, step, lr, options, skip, m, v);
}

extern const std::vector<const OpDef*> nadam_update_ops{&Update<Nadam>::op};

}  // namespace plimsoll
