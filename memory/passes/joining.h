// Joining: one launch for the updates of many parameters, and for whatever else writes in place.
// On a GPU a step has more launches than the work in them is worth: most parameters are small.
//
//   program = update_together(std::move(program), plan.lower_bound);   // where it is free
//   for (int i = 0; i < n; i = joined_until(program, i)) ...     // one call for each round
#pragma once

#include "memory/layout/plan.h"

namespace plimsoll {

// Moves updates (instructions that write in place) back until others like them come, so that they
// run one after another. It moves them only as far as the step never holds more than `bytes` in its
// arena on that account, and not past anything that needs them done. All other instructions keep
// their order, and every value its bits.
Program update_together(Program program, int64_t bytes);

// The end of the instructions from `first` on that one call of their kernel can run: updates by one
// op, with equal attributes and as many operands each, and none of them looking into memory that
// another one writes. first + 1: it runs alone.
int joined_until(const Program& program, int first);

}  // namespace plimsoll
