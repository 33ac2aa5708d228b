// How many threads kernels use, without what runs them (parallel.h).
//
//   set_num_threads(1);
#pragma once

namespace plimsoll {

// Threads that parallel_for may use. Default: the cores that this process may use
// (core/cpu/cores.h). ValueError below 1.
void set_num_threads(int threads);
int num_threads();  // 1 on threads that share a loop

}  // namespace plimsoll
