// Communication overlap: what is sent to other ranks leaves as soon as it is there, and what comes
// from them is waited for when nothing else is left to do. So bytes move while the step computes.
//
//   program = overlap_communication(update_early(std::move(program)));
//
//   captured    g2  g1  g0   exchange 2   update 2   exchange 1   update 1   exchange 0   update 0
//   as it runs  g2 start 2  g1 start 1  wait 2  update 2  g0 start 0  wait 1  update 1  wait 0 ...
//
// An exchange is waited for when the next one has been started: then the network is never without
// work while the step waits, and bytes in flight are those of two.
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Replaces each op that has halves (CollectiveRule) by them. A wait goes right before the first
// instruction that depends on it. What an earlier instruction wrote in place, as sums of gradients
// are, is sent right behind that instruction, and what depends on it follows once another such
// exchange has been started, or at the end; so the exchanges that follow from the first come into
// the order in which they are ready. A gather of parameters starts as soon as the one before it is
// there. All else keeps its place, and every value its bits. Equal programs stay equal: ranks
// agree. Buffers must not share memory.
Program overlap_communication(Program program);

// Whether there is anything to be moved apart.
bool exchanges(const Program& program);

}  // namespace plimsoll
