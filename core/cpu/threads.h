// How many threads kernels use, without what runs them (parallel.h).
//
//   set_num_threads(1);
#pragma once

namespace plimsoll {

// Threads that parallel_for may use: 1 inside a piece. Default: the cores of this machine.
void set_num_threads(int threads);  // ValueError below 1
int num_threads();

}  // namespace plimsoll
