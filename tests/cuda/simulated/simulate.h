// A block of CUDA threads as fibers of one thread of the CPU: each runs until it waits for others.
#pragma once

#include <cstdint>

namespace simulated {

struct Stream;
struct Event;
struct Graph;

void run_block(int threads, void (*body)(void*), void* argument);

// For the running thread of the block:
int lane();             // its number within its warp of 32
void wait_for_block();  // until all threads that have not ended wait here
uint64_t exchange(uint64_t bits,
                  int from);  // `bits` of the lane `from`; all lanes of the warp call

}  // namespace simulated
