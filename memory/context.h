// What instructions cost where they stand in a step: an operand that was used a moment ago is in a
// cache, one that was used long ago, or whose memory was, is far away.
//
//   const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
//   seconds_in_context(program, make_plan(program), costs);    // of each instruction
//
// How far it is, its reuse distance says: how many other bytes the step touched since it touched
// these (Mattson et al., "Evaluation techniques for storage hierarchies", 1970). It is counted by
// address: a value that takes the place of one just freed is near.
#pragma once

#include <span>
#include <vector>

#include "memory/costs.h"
#include "memory/plan.h"

namespace plimsoll {

constexpr int64_t kFarther = 2;

// A piece of memory: of the arena (space -1), or of a buffer outside of it.
struct Range {
  int space = -1;
  int64_t begin = 0, bytes = 0;
};

// What was touched last, and what before. Other bytes touched since: up to `near` it is near, from
// `far` on it is far, and between them it becomes farther by the logarithm.
class Recency {
 public:
  Recency(int64_t near, int64_t far) : near_(near), far_(far) {}

  // The mean over its bytes, from 0, near, to 1, far or not touched at all.
  double farness(const Range& range) const;
  void touch(const Range& range);

 private:
  double farness_at(int64_t distance) const;

  int64_t near_, far_, bytes_ = 0;
  std::vector<Range> touched_;  // the latest last; they do not overlap
};

// What a step finds in caches: what the cores have for themselves, or as much as the cache that they
// share holds, up to four times their own. 0 on a GPU, whose costs do not depend on it.
int64_t near_bytes(Device device);

// Of each instruction in a step that runs again and again: by how far its operands and its workspace
// are, it costs between near and far. Far is kFarther times near. Operands below 1 KiB do not count.
std::vector<double> seconds_in_context(const Program& program, const Plan& plan,
                                       std::span<const Cost> costs, int64_t near);
inline std::vector<double> seconds_in_context(const Program& program, const Plan& plan,
                                              std::span<const Cost> costs) {
  return seconds_in_context(program, plan, costs, near_bytes(program.device));
}

}  // namespace plimsoll
