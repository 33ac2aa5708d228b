#include "ops/update/radam_update/radam_update.h"

#include "ops/common/update.h"
#include "ops/update/radam_update/rule.h"

namespace plimsoll {

using namespace update_rules;

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

extern const std::vector<const OpDef*> radam_update_ops{&Update<Radam>::op};

}  // namespace plimsoll
