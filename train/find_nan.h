// FindNan: stops a training at the first op that writes NaN or infinity.
//
//   FindNan find_nan(options, scaler, optimizer.steps());
//   const auto [loss, gradients] =
//       find_nan.watch(number, part + 1 == parts, [&] { return step.train(number, {x, y, key}); });
//
// Dynamic loss scaling raises its scale until gradients overflow, so a step goes on to its end
// first. Infinities pass where they did what it expects of them: the update was left out, the loss
// is finite, and the scale was above 1, so that a lower one may help. Otherwise the first op of the
// step that wrote some is named, after the step: where gradients stayed finite beside a loss that
// did not, the update was made. Beside a scale that stays what it is a step goes on to its end too:
// nothing passes, and where the loss is finite the message says that a lower one may help. Without
// loss scaling, at a scale of 1 or less, and in evaluations the op itself throws.
#pragma once

#include <functional>

#include "core/engine/apply.h"
#include "train/runner.h"
#include "train/training_step.h"

namespace plimsoll::train {

class FindNan {
 public:
  // On this thread, for as long as it lives. `steps`: Optimizer::steps().
  FindNan(const TrainOptions& options, const optim::LossScaler& scaler, Tensor steps);

  // Calls run(), the step for batch `number` of the training, from 0; `last`: it makes an update,
  // unless loss scaling leaves it out. NumericError as above.
  Runner::Trained watch(int64_t number, bool last, const std::function<Runner::Trained()>& run);

 private:
  ApplyModeScope scope_;
  bool dynamic_;
  Tensor scale_;  // undefined: the op itself throws
  Tensor steps_;
  std::string found_;  // first in the batches of this update
};

}  // namespace plimsoll::train
