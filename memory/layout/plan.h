// Plan: where every value of a captured step lies and what the step takes, to the byte, before it
// runs. A pure function of the Program.
//
//   const Plan plan = make_plan(remove_dead(capture(step, metas)));
//   plan.total_bytes();                // what a PooledAllocator will measure as its peak
//   plan.print();                      // a table for people
//
// Under a budget the Program is rewritten before (budget.h).
#pragma once

#include "core/engine/program.h"
#include "core/tensor/bytes.h"

namespace plimsoll {

// What was paid to stay within a budget: what runs again, and how long that takes.
struct Recompute {
  int64_t budget = 0;   // bytes asked for; 0: no budget was given
  int repetitions = 0;  // instructions that run again
  // These are predicted: the time of the whole step without any repetition, the time of the
  // repetitions, and how much longer the step takes with them. The last is less than the second
  // where a smaller arena makes the rest faster.
  double step_seconds = 0, repeated_seconds = 0, added_seconds = 0;
  double least_repeated_seconds = 0;  // of any plan within the budget, all operands near
  // Where a plan is dear and a little more memory costs much less: that many bytes, and how much
  // longer the step takes within them. 0: it is not so.
  int64_t larger_budget = 0;
  double larger_added_seconds = 0;
  double cores_of_others = 0;  // while costs were measured: busy ones make them uncertain
  bool operator==(const Recompute&) const = default;
};

struct Plan {
  static constexpr int64_t kNowhere = -1;  // not in the arena: outside of it, empty, or unused

  std::vector<int64_t> offsets;            // in the arena, of each buffer
  std::vector<int64_t> workspace_offsets;  // in the arena, of each instruction's scratch
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;   // of arena_bytes: most bytes alive at one moment, or what is proved
  int64_t pinned_bytes = 0;  // externals: parameters, optimizer state, constants
  int64_t input_bytes = 0;
  int64_t result_bytes = 0;   // fresh tensors that the results are copied out to
  int peak_instruction = -1;  // the first with the most bytes alive; -1 when the arena is empty
  std::string peak_op;        // its name, and its module
  BytesByClass at_peak{};     // alive then: pinned, inputs, and in the arena
  int instructions = 0, buffers = 0, in_place = 0;
  Recompute recompute{};

  // Everything that is held while the step runs.
  int64_t total_bytes() const { return pinned_bytes + input_bytes + arena_bytes + result_bytes; }

  std::string text() const;
  void print() const;  // to the standard output
  bool operator==(const Plan&) const = default;
};

// Bytes of the fresh tensors that a run copies its results out to.
int64_t result_bytes(const Program& program);

// Equal programs give equal plans. Sizes are rounded up by block_bytes(), as the pool does. Inputs
// are used where they are and externals counted once per storage; only temporaries and workspaces
// are placed. DeviceError when the program spans devices.
Plan make_plan(const Program& program);

}  // namespace plimsoll
