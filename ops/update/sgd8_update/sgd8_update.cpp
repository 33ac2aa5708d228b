#include "ops/update/sgd8_update/sgd8_update.h"

#include "ops/common/coded_update.h"
#include "ops/update/sgd8_update/rule.h"

namespace plimsoll {

using update_rules::Sgd8;

void sgd8_update(const Tensor& param, const Tensor& grad, const CodedSlot& velocity,
                 const Tensor& step, const Tensor& lr, const SgdUpdate& options,
                 const Tensor& skip) {
  check<ValueError>(options.momentum != 0, Sgd8::name,
                    ": a velocity goes with momentum: momentum 0 with a velocity. Use "
                    "sgd_update() without one.");
  coded_update<Sgd8>(param, grad, step, lr, options, skip, {velocity});
}

extern const std::vector<const OpDef*> sgd8_update_ops{&CodedUpdate<Sgd8>::op};

}  // namespace plimsoll
