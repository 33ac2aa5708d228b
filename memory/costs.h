// What the instructions of a captured step cost, in seconds: measured on the device, or a guess
// from the number of operations and bytes that is the same on every machine.
//
//   const std::vector<double> costs = instruction_costs(program, CostModel::measured);
#pragma once

#include <vector>

#include "core/program.h"

namespace plimsoll {

enum class CostModel {
  measured,  // by running each kind of instruction a few times on scratch memory, once per process
  model      // OpDef::flops at 100 GFLOP/s and bytes at 10 GB/s: deterministic
};

// One for each instruction. Measuring takes no memory from the current pool; it holds as much as
// the step without parameters, up to 8 MiB, or one instruction's buffers. Inputs that the step
// makes are zeros. What cannot run on zeros, and what writes into its inputs, has the model's cost.
std::vector<double> instruction_costs(const Program& program, CostModel model);

}  // namespace plimsoll
