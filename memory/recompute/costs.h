// What the instructions of a captured step cost, in seconds: measured on the device, or a guess
// from the number of operations and bytes that is the same on every machine.
//
//   const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
#pragma once

#include <vector>

#include "core/engine/program.h"

namespace plimsoll {

enum class CostModel {
  measured,  // by running each kind of instruction a few times on scratch memory, once per process
  model      // OpDef::flops at 100 GFLOP/s and bytes at 10 GB/s: deterministic
};

// Of one instruction. Near: what it touches was used just before and is in the cores' own caches;
// far: so long ago that no cache holds it. `later` has a place for each of its inputs, then its
// outputs, then the workspace: how much longer than near it takes when that one alone is far.
// Empty: as long. What is fetched together waits together, so the sum of them may be more than far.
// Where an instruction stands in a step it costs something between near and far (context.h).
struct Cost {
  double near = 0, far = 0;   // near <= far
  std::vector<double> later;  // none below 0
  double shared = 0;          // how much longer when the shared cache has it all; 0: not known

  double between() const { return (near + far) / 2; }
  bool operator==(const Cost&) const = default;
};

// Of two measurements of one instruction, whatever took less time: near, far, in the shared cache,
// and with each place alone far.
Cost lesser(const Cost& a, const Cost& b);

// What a device does in a second at best; the defaults are those of CostModel::model.
struct DeviceSpeed {
  double flops = 1e11, flops16 = 1e11;  // in f32, and of products of 16-bit numbers
  double bytes = 1e10;
};

// Seconds: the operations of an instruction at that speed, then the bytes of its operands.
double modelled_seconds(const Instruction& instruction, const DeviceSpeed& speed = {});

// One for each instruction. Measuring takes no memory from the current pool; it holds the buffers
// of one instruction, which every plan holds at once too. Inputs that the step makes are zeros, or 1
// if they are one i64, as step counts are. What writes into its inputs has numbers like these in
// place of all of them; the inputs stay as they are. The model's cost, the same near and far, has
// what cannot run on such numbers; what writes into its inputs, on a GPU or where they would take
// more than all other instructions need; and everything by CostModel::model. On a GPU measured costs
// are the same near and far too.
std::vector<Cost> instruction_costs(const Program& program, CostModel model);

}  // namespace plimsoll
