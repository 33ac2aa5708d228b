// Dead code: what a captured step computes but nobody uses, such as an accuracy that the function
// does not return, or what another pass has left without a reader.
//
//   program = remove_dead(std::move(program));
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// The program without the instructions that write nothing in place and whose outputs nobody uses.
// Buffers that are then in no operand disappear too and the others are numbered anew, in order;
// inputs always stay.
Program remove_dead(Program program);

}  // namespace plimsoll
