// Loss scaling: f16 has no numbers below 2^-24, and gradients are often smaller. The loss is
// multiplied by a large number, the gradients are divided by it again in f32, and where one of them
// overflowed, the step is skipped and the number made smaller (Micikevicius et al., "Mixed
// Precision Training", 2018).
//
//   auto scaler = optim::LossScaler::dynamic();
//   auto [grads, skip] = scaler.unscale(gradients(scaler.scale(loss), parameters));
//   optimizer.update(optim::clip_by_global_norm(grads, 1.0).grads, skip);
//   scaler.update(skip);
//   optimizer.set_learning_rate(schedule(optimizer.steps_made()));      // outside a captured step
//
// Scale, counter and `skip` are tensors and no value is read: all of it but the last line can be
// captured. That line waits for a GPU; optim/scheduled_rate.h does not. A skipped step changes no
// bit of parameters, optimizer state and step count.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/update/loss_scale/loss_scale.h"

namespace plimsoll::optim {

struct DynamicScale {
  double initial = 65536;  // 2^16
  double growth = 2, backoff = 0.5;
  int64_t interval = 2000;  // steps in a row without an overflow, before it grows
};

class LossScaler {
 public:
  // torch.amp.GradScaler's rule: times `backoff` at an overflow, times `growth` after `interval`
  // steps without one, never beyond the normal numbers of f32. ValueError for numbers out of range.
  static LossScaler dynamic(const DynamicScale& options = {}, Device device = Device::cpu);
  // Always the same; an overflow is skipped too. ValueError unless `scale` is positive and finite.
  static LossScaler fixed(double scale, Device device = Device::cpu);
  // Does nothing: so that one step function serves all precisions.
  static LossScaler none() { return LossScaler(); }

  // loss * scale, in f32 at least.
  Tensor scale(const Tensor& loss) const;

  struct Unscaled {
    std::vector<Tensor> grads;
    Tensor skip;  // bool []: one of them is infinite or NaN. Undefined for none()
  };
  // Gradients of the scaled loss to those of the loss. Move them in: each gives way to the next.
  Unscaled unscale(std::vector<Tensor> grads) const;
  // Moves the scale, once a step and after unscale().
  void update(const Tensor& skip) const;

  // f32 []; undefined for none().
  const Tensor& current() const { return scale_; }
  // Everything to save and to restore in place: "loss_scale", "good_steps"; empty for none().
  std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  LossScaler() = default;
  LossScaler(double initial, const LossScaleUpdate& update, Device device);

  LossScaleUpdate update_;
  Tensor scale_, good_steps_;
};

}  // namespace plimsoll::optim
