#include "ops/loss/regression_loss/regression_loss.h"

#include "ops/loss/common/pointwise_loss.h"
#include "ops/loss/regression_loss/formulas.h"

namespace plimsoll {

using namespace loss_formulas;

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduce(PointwiseLoss<Mse>::apply(x, target), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduce(PointwiseLoss<L1>::apply(x, target), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta, Reduction reduction) {
  check<ValueError>(std::isfinite(beta) && beta >= 0,
                    "smooth_l1_loss: beta is not a number from 0: ", beta,
                    ". Use the distance up to which the loss is quadratic.");
  if (static_cast<float>(beta) == 0) return l1_loss(x, target, reduction);
  return reduce(PointwiseLoss<SmoothL1>::apply(x, target, beta), reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  check<ValueError>(std::isfinite(delta) && delta > 0,
                    "huber_loss: delta is not a number above 0: ", delta,
                    ". Use the distance up to which the loss is quadratic.");
  return reduce(PointwiseLoss<Huber>::apply(x, target, delta), reduction);
}

extern const std::vector<const OpDef*> regression_loss_ops{
    &PointwiseLoss<Mse>::op,           &PointwiseLoss<Mse>::grad<0>,
    &PointwiseLoss<Mse>::grad<1>,      &PointwiseLoss<L1>::op,
    &PointwiseLoss<L1>::grad<0>,       &PointwiseLoss<L1>::grad<1>,
    &PointwiseLoss<SmoothL1>::op,      &PointwiseLoss<SmoothL1>::grad<0>,
    &PointwiseLoss<SmoothL1>::grad<1>, &PointwiseLoss<Huber>::op,
    &PointwiseLoss<Huber>::grad<0>,    &PointwiseLoss<Huber>::grad<1>};

}  // namespace plimsoll
