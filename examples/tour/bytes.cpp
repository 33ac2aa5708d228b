// Chapter 1: what training takes by class, for growing batches: eagerly, as the pool counts it, and
// captured, as it is planned and counted; each with and without checkpointing.
#include <cstdio>
#include <memory>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/step.h"

namespace plimsoll::tour {
namespace {

struct Row {
  Peak measured;        // by the pool
  int64_t planned = 0;  // captured only
};

// Two steps in a pool of their own, from the model to the last loss.
Row train(const NetOptions& net, int64_t batch, bool captured) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  Training training(net);
  const Batch data = make_batch(batch);
  pool->reset_peak();
  Row row;
  if (captured) {
    Step step(training.function());
    row.planned = step.plan(data.x, data.y).total_bytes();
    for (int i = 0; i < 2; ++i) step(data.x, data.y);
    row.measured = pool->stats().peak;
  } else {
    for (int i = 0; i < 2; ++i) training(data.x, data.y);
    row.measured = pool->stats().peak;
  }
  return row;
}

}  // namespace

void print_bytes() {
  std::printf("KiB at the moment when most is held; eager, counted by the pool\n");
  std::printf("batch  parameters  gradients  optimizer  activations   inputs     total\n");
  for (const int64_t batch : {64, 256, 1024, 4096}) {
    const Peak peak = train({.layers = 4}, batch, false).measured;
    const auto of = [&](MemoryClass c) { return kib(peak.by_class[static_cast<size_t>(c)]); };
    std::printf("%5lld %11.1f %10.1f %10.1f %12.1f %8.1f %9.1f\n", static_cast<long long>(batch),
                of(MemoryClass::parameter), of(MemoryClass::gradient), of(MemoryClass::optimizer),
                of(MemoryClass::activation) + of(MemoryClass::workspace), of(MemoryClass::input),
                kib(peak.bytes));
  }
  std::printf("\nThe same step with eight layers, batch 1024; KiB\n");
  std::printf("                        planned  measured\n");
  for (const bool captured : {false, true})
    for (const bool checkpoint : {false, true}) {
      const Row row = train({.layers = 8, .checkpoint = checkpoint}, 1024, captured);
      const char* mode = captured ? "captured" : "eager";
      const char* with = checkpoint ? "checkpoints" : "all kept";
      if (captured)
        std::printf("%-9s %-12s %9.1f %9.1f\n", mode, with, kib(row.planned),
                    kib(row.measured.bytes));
      else
        std::printf("%-9s %-12s %9s %9.1f\n", mode, with, "-", kib(row.measured.bytes));
    }
}

}  // namespace plimsoll::tour
