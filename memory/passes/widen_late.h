// Widen late: a gradient of 16 bits is not copied to f32 for those who can read it as it is.
//
//   program = widen_late(std::move(program));
//
//   captured   g32 = cast(g16)   sums = sums_of_squares(g32, ...)   adam_update(w, g32)
//   then                         sums = sums_of_squares(g16, ...)   adam_update(w, g16)
//
// To widen loses nothing, so every value that is left has the bits it had; until the last reader
// has it there are 2 bytes of each element and not 4.
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Leaves out each cast from 16 bits to f32 whose result is read only as inputs that OpDef::widens
// names. Buffers that are then in no operand stay. Buffers must not share memory.
Program widen_late(Program program);

}  // namespace plimsoll
