// The problem of recompute, free of tensors: ops in order, each with a cost, reading and writing
// storages of so many bytes. A captured step becomes one (program.h), a trace file too (tools/).
//
//   Problem problem;
//   problem.storages = {{.bytes = 64}, {.bytes = 128}};
//   problem.ops.push_back({.cost = 1e-3, .writes = {0}});
//   problem.ops.push_back({.cost = 2e-3, .reads = {0}, .writes = {1}});
//
// Only what is made and used up inside appears: inputs and parameters are always there.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace plimsoll::recompute {

struct Op {
  double cost = 0;                     // seconds, or any unit: only sums and ratios matter
  int64_t workspace = 0;               // bytes held while it runs
  std::vector<int> reads{}, writes{};  // storages; each is written by one op, before it is read
  int takes_over = -1;                 // storage it reads whose memory writes[0] may take: in-place
  // It may run again only before the op of this number does: that one changes something it reads.
  // 0: never.
  int repeatable_before = std::numeric_limits<int>::max();
};

struct Storage {
  int64_t bytes = 0;
  bool evictable = true;  // false: some op writes into it later, and it is never made again
};

struct Problem {
  std::vector<Op> ops;
  std::vector<Storage> storages;
};

// One execution of an op: the first or a repetition. From here on later ops use what a repetition
// wrote to the storages in `made`; the others that it writes were there already.
struct Run {
  int op = 0;
  bool again = false;
  std::vector<int> made{};
};
// A plan: all that runs, in order.
using Schedule = std::vector<Run>;

}  // namespace plimsoll::recompute
