// The problem of recompute, free of tensors: ops in order, each with a cost, reading and writing
// storages of so many bytes. A captured step becomes one (program.h), a trace file too (tools/).
//
//   Problem problem;
//   problem.storages = {{.bytes = 64}, {.bytes = 128}};
//   problem.ops.push_back({.cost = 1e-3, .writes = {0}});
//   problem.ops.push_back({.cost = 2e-3, .reads = {0}, .writes = {1}});
//   const Timeline timeline(problem);
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

// A storage is touched by its maker and then by each op that reads it. Between two of these moments
// lies a gap, through which it is kept or not: gaps are what one decides on. The gaps of storage s
// have the numbers first_gap[s] to first_gap[s + 1]; gap g ends at op `next_use[g]`. The last of
// them, the tail, begins where nobody reads it any more but what runs again: where blocks read all
// blocks before them, it takes least to keep the parts and put them together again.
struct Timeline {
  explicit Timeline(Problem problem);

  int ops() const { return static_cast<int>(problem.ops.size()); }
  int storages() const { return static_cast<int>(problem.storages.size()); }
  int gaps() const { return static_cast<int>(next_use.size()); }
  // The op after which gap g begins.
  int begin_of(int gap) const {
    const int storage = storage_of[gap];
    return gap == first_gap[storage] ? maker[storage] : next_use[gap - 1];
  }
  int tail(int storage) const { return first_gap[storage + 1] - 1; }
  bool is_tail(int gap) const { return gap == tail(storage_of[gap]); }
  bool can_evict(int gap) const;

  Problem problem;
  std::vector<int> maker;      // of each storage
  std::vector<int> first_gap;  // of each storage, and one more
  // Of each gap; of a tail next_use is the last use of what is made of it.
  std::vector<int> next_use, storage_of;
};

// Whether choices for one are choices for the other: the same ops use the same storages, of
// whatever sizes.
bool same_uses(const Timeline& a, const Timeline& b);

}  // namespace plimsoll::recompute
