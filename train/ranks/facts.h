// Facts that ranks have to agree on before their first step (train/ranks/group.h): what a training
// depends on to the last bit, and that all of them will communicate in the same order.
//
//   const std::string weights = weights_of(model);     // while it has them
//   Facts facts = facts_of(options, programs, updates);
//   facts.emplace_back("weights", weights);
//   group.agree(facts);
#pragma once

#include "core/engine/program.h"
#include "nn/module.h"
#include "train/ranks/group.h"

namespace plimsoll::train {

// In the order in which a difference is most telling: this program's file and processor level, the
// options, then programs, as a hash. `updates`: how many the training is long; learning rates are
// compared for these.
Facts facts_of(const TrainOptions& options, const std::vector<Program>& programs, int64_t updates);

// A hash of all parameters and buffers.
std::string weights_of(const nn::Module& model);

}  // namespace plimsoll::train
