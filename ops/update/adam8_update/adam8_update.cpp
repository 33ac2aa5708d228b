#include "ops/update/adam8_update/adam8_update.h"

#include "ops/common/coded_update.h"
#include "ops/update/adam8_update/rule.h"

namespace plimsoll {

using update_rules::Adam8;

void adam8_update(const Tensor& param, const Tensor& grad, const CodedSlot& m, const CodedSlot& v,
                  const Tensor& step, const Tensor& lr, const AdamUpdate& options,
                  const Tensor& skip) {
  coded_update<Adam8>(param, grad, step, lr, options, skip, {m, v});
}

extern const std::vector<const OpDef*> adam8_update_ops{&CodedUpdate<Adam8>::op};

}  // namespace plimsoll
