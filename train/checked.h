// What a trainer refuses before it makes or plans anything, each in one sentence.
//
//   const TrainOptions options = checked({.epochs = 5, .run = "runs/a"});
//   check_data(training, held_out, options.objective);
//   optim::ParameterGroups optimizer = matched(given, model);
#pragma once

#include "nn/module.h"
#include "optim/parameter_groups.h"
#include "train/batches.h"
#include "train/options.h"

namespace plimsoll::train {

// The same, with the run that it goes on from. ValueError for numbers out of range, a loss that is
// missing and metrics with names that the log has; UsageError for options that do not go together.
TrainOptions checked(TrainOptions options);

// ValueError for training batches of several sizes, no batches to evaluate on, and guesses of
// classes where labels are none; ShapeError for evaluation on another shape than training's.
void check_data(const Batches& training, const Batches& held_out, const Objective& objective);

// The optimizer with its parameters in the order of the model's, which is that of gradients.
// ValueError for a model without parameters, and unless the optimizer has exactly the model's.
optim::ParameterGroups matched(const optim::ParameterGroups& optimizer, const nn::Module& model);

}  // namespace plimsoll::train
