// One row of compare_memory: a model trained for a few steps in a pool of its own.
#pragma once

#include <string>
#include <vector>

#include "autograd/autocast.h"
#include "memory/bytes.h"

namespace plimsoll::examples {

struct Case {
  std::string model;
  int64_t batch;
  Precision precision;
  bool captured, checkpoint;
  int share = 0;  // captured only: the budget in percent of what the step takes without; 0: none
};
constexpr int kSmallest = -1;  // a share: the smallest budget there is

struct Row {
  Case c;
  int64_t budget_bytes = 0;                          // 0: none
  bool refused = false;                              // no plan is that small: nothing was run
  int64_t planned_bytes = 0, lower_bound_bytes = 0;  // captured only
  int64_t measured_bytes = 0;                        // the pool's peak over all steps
  BytesByClass at_peak{};  // captured: by the plan; eager: as the pool saw it
  double ms_per_step = 0;  // median, without the first
  double loss = 0;         // of the last step
  uint64_t digest = 0;     // of every bit of all losses, and of a last loss and its gradients
};

std::vector<std::string> comparable_models();  // "lenet", ... "textcls"

// UsageError for an unknown model.
Row measure(const Case& c, int steps, uint64_t seed);

}  // namespace plimsoll::examples
