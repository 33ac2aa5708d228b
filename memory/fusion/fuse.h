// Fusion: pointwise ops that follow each other, and ops over rows among them, become one
// instruction that runs them tile by tile in the cache (fused.h), or on a GPU in registers. Before
// that, ops that are known to follow each other become one op (combine.h).
//
//   program = fuse(std::move(program), kFuseAll);
#pragma once

#include "memory/fusion/groups.h"

namespace plimsoll {

// The program with its chains fused, or as it was where nothing can be. Every value that is left
// has its bits, and the plan of the result takes no more bytes than that of the program: groups
// that would are left out. On a GPU their kernels are compiled here; where they cannot be
// (core/generated.h), the program stays as it is.
Program fuse(Program program, Fusion passes);

}  // namespace plimsoll
