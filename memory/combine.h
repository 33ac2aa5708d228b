// Combining: several ops that follow each other become one op that does what they do (CombinedOp):
// batch norm, the sum with a residual and relu; the gradients of these.
//
//   program = combine(std::move(program));
#pragma once

#include "core/program.h"

namespace plimsoll {

// The program with its chains combined. Every value that is left has its bits, and the plan of the
// result takes no more bytes than that of the program: of chains that would, fewer are combined.
Program combine(Program program);

}  // namespace plimsoll
