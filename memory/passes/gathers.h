// Gathers: parameters of which ranks have parts are gathered where a step needs them, not all of
// them at its beginning, and are let go again.
//
//   program = gather_again(std::move(program));     // "fully sharded": a few of them at a time
//   program = gather_late(std::move(program));      // once each: where a budget's planner begins
//
// What is gathered is of class `gathered`, and so it may be made again wherever the parts are what
// they were; so may what is made of it alone, as its copy in 16 bits. That all ranks do it at the
// same places is up to who plans: equal programs give equal programs.
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Each is made right before what needs it first, and once.
Program gather_late(Program program);

// The same, and it is let go: when more than kGathersKept others have been gathered since its last
// use, the next use gathers it anew. So forward and backward gather each once, what every layer
// uses stays, and what ends the one and begins the other is gathered once.
constexpr int kGathersKept = 2;
Program gather_again(Program program);

}  // namespace plimsoll
