// Facts that ranks have to agree on before their first step (train/ranks/group.h): what a training
// depends on to the last bit, and that all of them will talk in the same order.
//
//   Facts facts = facts_of(options, model, programs, updates);
//   facts.emplace_back("data", training.identity);
//   group.agree(facts);
#pragma once

#include "core/engine/program.h"
#include "nn/module.h"
#include "train/ranks/group.h"

namespace plimsoll::train {

// In the order in which a difference is most telling: this program's file and processor level, the
// options, then programs and weights, as a hash each.
// `updates`: how many the training is long; learning rates are compared for these.
Facts facts_of(const TrainOptions& options, const nn::Module& model,
               const std::vector<Program>& programs, int64_t updates);

// Ops, types, sizes and places of all instructions; not attributes, which options say.
uint64_t hash_of(const Program& program);

}  // namespace plimsoll::train
