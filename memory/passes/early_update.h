// Early update: an instruction that writes in place, such as the update of a parameter, runs as
// soon as its gradient is there instead of at the end of the step. Then gradients need not all be
// alive at once. Where something needs them all (clipping by their norm, a check for infinities),
// nothing moves.
//
//   program = update_early(std::move(program));
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Moves each instruction that writes in place and reads a temporary to the front as far as it can
// go: after those that make what it reads, that read what it writes, and that write what it reads
// or writes. Others that write in place, such as step counters, and zeros that a sum begins with,
// go only where these need them. All other instructions keep their order, and every value its bits.
// Buffers must not share memory.
Program update_early(Program program);

}  // namespace plimsoll
