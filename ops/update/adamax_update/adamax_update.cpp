#include "ops/update/adamax_update/adamax_update.h"

#include "ops/common/update.h"
#include "ops/update/adamax_update/rule.h"

namespace plimsoll {

using namespace update_rules;

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

extern const std::vector<const OpDef*> adamax_update_ops{&Update<Adamax>::op};

}  // namespace plimsoll
