#include "simulate.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cuda_runtime.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace simulated {
namespace {

// Stacks begin at different places of a page: otherwise what all of them use meets in the same few
// sets of the cache.
constexpr size_t kStack = size_t{128} << 10, kStagger = 320, kPage = 4096;
constexpr int kWarp = 32, kMostThreads = 1024;

enum class State { ready, waits_for_block, waits_for_warp, ended };

// Made once and used by block after block: ucontext gives a fiber its stack, setjmp and longjmp,
// which make no system calls, switch between them.
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStack);
  ucontext_t context{};
  jmp_buf place{};
  bool started = false;
  State state = State::ended;
  uint64_t bits[2] = {};  // what it offers to its warp, in turns
  int turn = 0;
};

struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  int threads = 0, running = 0;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  jmp_buf scheduler{};
  ucontext_t home{};
  uint32_t launches = 0;
};
Block block;

// Back to the scheduler, and on from here when it comes around again.
void pause(State state) {
  Fiber& self = *block.fibers[block.running];
  self.state = state;
  if (_setjmp(self.place) == 0) _longjmp(block.scheduler, 1);
}

void fiber_main() {
  while (true) {  // one turn for each block
    block.body(block.argument);
    pause(State::ended);
  }
}

void resume(int thread) {
  Fiber& fiber = *block.fibers[thread];
  block.running = thread;
  threadIdx = dim3(static_cast<unsigned>(thread));
  if (_setjmp(block.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  getcontext(&fiber.context);
  const size_t unused = static_cast<size_t>(thread) * kStagger % kPage;
  fiber.context.uc_stack = {fiber.stack.get(), 0, kStack - unused};
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
  swapcontext(&block.home, &fiber.context);
}

// Threads `first` ... `last` - 1 may go on when all that have not ended wait in the same way.
bool release(int first, int last, State waiting) {
  int waits = 0;
  for (int t = first; t < last; ++t) {
    const State state = block.fibers[t]->state;
    if (state == State::ended) continue;
    if (state != waiting) return false;
    ++waits;
  }
  for (int t = first; t < last; ++t)
    if (block.fibers[t]->state == waiting) block.fibers[t]->state = State::ready;
  return waits > 0;
}

// Every thread that can, runs until it waits or ends. Forwards and backwards in turn, because what
// depends on the order of threads is wrong.
bool run_ready(bool backwards) {
  bool ran = false;
  for (int i = 0; i < block.threads; ++i) {
    const int thread = backwards ? block.threads - 1 - i : i;
    if (block.fibers[thread]->state != State::ready) continue;
    resume(thread);
    ran = true;
  }
  return ran;
}

}  // namespace

void run_block(int threads, void (*body)(void*), void* argument) {
  if (threads > kMostThreads) {
    std::fprintf(stderr, "simulated CUDA: a block of %d threads\n", threads);
    std::abort();
  }
  while (static_cast<int>(block.fibers.size()) < threads)
    block.fibers.push_back(std::make_unique<Fiber>());
  block.threads = threads;
  block.body = body;
  block.argument = argument;
  const bool backwards = ++block.launches % 2 == 0;
  for (int t = 0; t < threads; ++t) {
    block.fibers[t]->state = State::ready;
    block.fibers[t]->turn = 0;
    block.fibers[t]->bits[0] = block.fibers[t]->bits[1] = 0;
  }
  bool moved = true;
  while (moved) {
    moved = run_ready(backwards);
    for (int warp = 0; warp < threads; warp += kWarp) {
      const int end = warp + kWarp < threads ? warp + kWarp : threads;
      moved = release(warp, end, State::waits_for_warp) || moved;
    }
    moved = release(0, threads, State::waits_for_block) || moved;
  }
  for (int t = 0; t < threads; ++t)
    if (block.fibers[t]->state != State::ended) {
      std::fprintf(stderr, "simulated CUDA: a barrier that only some threads reach\n");
      std::abort();
    }
}

int lane() { return block.running % kWarp; }

void wait_for_block() { pause(State::waits_for_block); }

uint64_t exchange(uint64_t bits, int from) {
  const int warp = block.running / kWarp * kWarp, source = warp + from;
  Fiber& self = *block.fibers[block.running];
  // A lane that goes ahead offers its next value in the other place, and gets no further than that
  // before all have read this one.
  const int turn = self.turn ^= 1;
  self.bits[turn] = bits;
  pause(State::waits_for_warp);
  return source < block.threads ? block.fibers[source]->bits[turn] : bits;
}

}  // namespace simulated
