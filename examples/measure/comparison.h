// One row of compare_memory: a model trained for a few steps in a pool and a process of its own.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/autocast.h"
#include "core/tensor/bytes.h"

namespace plimsoll::examples {

struct Case {
  std::string model;
  int64_t batch;
  Precision precision;
  bool captured, checkpoint;
  int share = 0;  // captured only: the budget in percent of what the step takes without; 0: none
};
constexpr int kSmallest = -1;  // a share: the smallest budget there is

struct Measured {
  int64_t budget_bytes = 0;                          // 0: none
  bool refused = false;                              // no plan is that small: nothing was run
  int64_t planned_bytes = 0, lower_bound_bytes = 0;  // captured only
  int64_t measured_bytes = 0;                        // the pool's peak over all steps
  int64_t process_bytes = 0;                         // what the process grew by; 0: unknown
  BytesByClass at_peak{};  // captured: by the plan; eager: as the pool saw it
  double ms_per_step = 0;  // of the fastest, without the first: others may use the machine too
  double loss = 0;         // of the last step
  uint64_t digest = 0;     // of every bit of all losses, and of a last loss and its gradients

  // What the engine says that the step takes: planned, or measured where there is no plan.
  int64_t told_bytes() const { return planned_bytes > 0 ? planned_bytes : measured_bytes; }
  // The process may take a little more: code, stacks, packed operands, the heap. Within 1 % or
  // 16 MiB, whichever is more.
  bool process_within() const {
    return process_bytes <= told_bytes() + std::max(told_bytes() / 100, int64_t{16} << 20);
  }
};

std::vector<std::string> comparable_models();  // "lenet", ... "textcls"

// Reads what the rows of these models share, so that all see the same and none counts it.
void read_shared_data(const std::vector<std::string>& models);

// In a process of its own: from this one no thread may have been started. UsageError for an unknown
// model; what the row's process met, as in_own_process() says.
Measured measure(const Case& c, Device device, int steps, uint64_t seed);

}  // namespace plimsoll::examples
