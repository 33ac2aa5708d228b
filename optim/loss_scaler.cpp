#include "optim/loss_scaler.h"

#include <cmath>

#include "autograd/no_grad.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"

namespace plimsoll::optim {

LossScaler::LossScaler(double initial, const LossScaleUpdate& update, Device device)
    : update_(update) {
  check<ValueError>(initial > 0 && std::isnormal(static_cast<float>(initial)),
                    "loss_scaler: the scale is not a positive number of f32: ", initial,
                    ". Use 65536 or so.");
  check_options("loss_scaler", update);
  const MemoryScope scope(MemoryClass::optimizer);
  scale_ = full({}, initial, {DType::f32, device});
  good_steps_ = zeros({}, {DType::i64, device});
}

LossScaler LossScaler::dynamic(const DynamicScale& o, Device device) {
  return LossScaler(o.initial, {o.growth, o.backoff, o.interval}, device);
}

LossScaler LossScaler::fixed(double scale, Device device) {
  return LossScaler(scale, {.growth = 1, .backoff = 1}, device);
}

Tensor LossScaler::scale(const Tensor& loss) const {
  check_defined("loss_scaler", loss);
  if (!scale_.defined()) return loss;
  const DType wide = compute_dtype(loss.dtype());  // 65536 is no f16
  // Nobody reads the product, only its gradient, so it may overflow: a captured step leaves it out.
  ApplyMode mode = apply_mode();
  mode.check_finite = false;
  const ApplyModeScope scope(mode);
  return cast(loss, wide) * cast(scale_, wide);
}

LossScaler::Unscaled LossScaler::unscale(std::vector<Tensor> grads) const {
  if (!scale_.defined()) return {std::move(grads), {}};
  const NoGrad scope;
  Tensor skip = nonfinite(grads);
  const MemoryScope memory(MemoryClass::gradient);
  for (Tensor& grad : grads) grad = plimsoll::unscale(grad, scale_);
  return {std::move(grads), std::move(skip)};
}

void LossScaler::update(const Tensor& skip) const {
  if (scale_.defined()) update_loss_scale(scale_, good_steps_, skip, update_);
}

std::vector<std::pair<std::string, Tensor>> LossScaler::state() const {
  if (!scale_.defined()) return {};
  return {{"loss_scale", scale_}, {"good_steps", good_steps_}};
}

}  // namespace plimsoll::optim
