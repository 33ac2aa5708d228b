// Between captured steps and the problem of recompute.
//
//   const Timeline timeline(problem_of(program, costs));
//   const Program other = rewrite(program, Simulator(timeline).schedule(choices));
//
// The rewritten program computes the same bits: the same kernels on the same values, some of them
// twice.
#pragma once

#include <span>

#include "core/engine/program.h"
#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {

// One op for each instruction, and one more that reads the results. `costs`: of each instruction.
// Storages are the program's buffers by number, in whole granules; only temporaries take part. An
// op that writes in place and a collective never run again, nor does one whose inputs have since
// been written to.
Problem problem_of(const Program& program, std::span<const double> costs);

// The program that runs in the order of `schedule`; each repetition writes buffers of its own,
// which come after those of the program.
Program rewrite(const Program& program, const Schedule& schedule);

}  // namespace plimsoll::recompute
