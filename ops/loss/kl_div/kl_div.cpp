#include "ops/loss/kl_div/kl_div.h"

#include "ops/loss/common/pointwise_loss.h"
#include "ops/loss/kl_div/formulas.h"

namespace plimsoll {

using namespace loss_formulas;

Tensor kl_div(const Tensor& log_p, const Tensor& target, const KlDivOptions& options) {
  return reduce(options.log_target ? PointwiseLoss<KlLog>::apply(log_p, target)
                                   : PointwiseLoss<Kl>::apply(log_p, target),
                options.reduction);
}

extern const std::vector<const OpDef*> kl_div_ops{
    &PointwiseLoss<Kl>::op,    &PointwiseLoss<Kl>::grad<0>,    &PointwiseLoss<Kl>::grad<1>,
    &PointwiseLoss<KlLog>::op, &PointwiseLoss<KlLog>::grad<0>, &PointwiseLoss<KlLog>::grad<1>};

}  // namespace plimsoll
