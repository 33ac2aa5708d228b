#include "ops/update/average_update/average_update.h"

#include "ops/common/update.h"
#include "ops/update/average_update/rule.h"

namespace plimsoll {

using update_rules::Average;

void check_options(const char* op, const AverageUpdate& o) { check_share(op, "keep", o.keep); }

void average_update(const Tensor& mean, const Tensor& x, const Tensor& step, const Tensor& lr,
                    const AverageUpdate& options, const Tensor& skip) {
  update<Average>(mean, x, step, lr, options, skip);
}

extern const std::vector<const OpDef*> average_update_ops{&Update<Average>::op};

}  // namespace plimsoll
