// What the instructions of a captured step cost, in seconds: measured on the device, or a guess
// from the number of operations and bytes that is the same on every machine.
//
//   const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
//   costs[i].at(arena_farness(plan.arena_bytes))    // seconds of instruction i in that plan
#pragma once

#include <vector>

#include "core/engine/program.h"

namespace plimsoll {

enum class CostModel {
  measured,  // by running each kind of instruction a few times on scratch memory, once
  model      // OpDef::flops at 100 GFLOP/s and bytes at 10 GB/s: deterministic
};

// What one instruction takes, in seconds: near, when what it touches was written just before, so
// that caches hold it; far, when that was so long ago that no cache does. In a step it takes
// something between.
struct Cost {
  double near = 0, far = 0;  // near <= far
  // How many cores other programs had while it was measured, if they had many: it may be less.
  double others = 0;

  double at(double farness) const { return near + farness * (far - near); }
  bool operator==(const Cost&) const = default;
};

// Where between near (0) and far (1) the instructions of a step with such an arena lie. Half of
// what they touch was touched just before. The other half lies as far away as the arena is large:
// near when the caches that cores have for themselves hold it, far from the size of the shared
// cache on, and in between it goes by the logarithm.
double arena_farness(int64_t arena_bytes);
constexpr double kFarthest = 0.5;

// What a device does in a second at best; the defaults are those of CostModel::model.
struct DeviceSpeed {
  double flops = 1e11, flops16 = 1e11;  // in f32, and of products of 16-bit numbers
  double bytes = 1e10;
};

// Seconds: the operations of an instruction at that speed, then the bytes of its operands.
double modelled_seconds(const Instruction& instruction, const DeviceSpeed& speed = {});

// Returns one cost for each instruction. The model's cost, near and far, goes to everything by
// CostModel::model and on Device::null, to what writes into its inputs, which never runs again, and
// to what refuses zeros with a ValueError or an IndexError. Any other error of a kernel is thrown.
// On a GPU measured costs are the same near and far.
//
// Measuring runs each new kind once, the shortest first, until kMostMeasuringSeconds would be over:
// what is left then takes as many times what the model says as the others of its op did. For
// kMeasuringSeconds those run again that take no longer than what is left of them. On the CPU the
// next process knows those (cost_file.h), and those that take too long ever to run again; it
// measures the others. It takes no memory from the current pool, and holds the buffers of one
// instruction, which every plan holds at once too.
constexpr double kMeasuringSeconds = 1, kMostMeasuringSeconds = 4;
std::vector<Cost> instruction_costs(const Program& program, CostModel model);

}  // namespace plimsoll
