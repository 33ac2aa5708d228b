#include "ops/update/adagrad_update/adagrad_update.h"

#include "ops/common/update.h"
#include "ops/update/adagrad_update/rule.h"

namespace plimsoll {

using namespace update_rules;

void check_options(const char* op, const AdagradUpdate& o) {
  check_number(op, "lr_decay", o.lr_decay);
  check_number(op, "eps", o.eps);
  check_number(op, "weight_decay", o.weight_decay);
}

void adagrad_update(const Tensor& param, const Tensor& grad, const Tensor& sum, const Tensor& step,
                    const Tensor& lr, const AdagradUpdate& options, const Tensor& skip) {
  update<Adagrad>(param, grad, step, lr, options, skip, sum);
}

extern const std::vector<const OpDef*> adagrad_update_ops{&Update<Adagrad>::op};

}  // namespace plimsoll
