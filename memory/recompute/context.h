// What instructions cost where they stand in a step: an operand that was used a moment ago is in a
// cache, one that was used long ago, or whose memory was, is far away.
//
//   const std::vector<Cost> costs = instruction_costs(program, CostModel::measured);
//   seconds_in_context(program, make_plan(program), costs);    // of each instruction
//
// How far it is, its reuse distance says: how many other bytes the step touched since it touched
// these (Mattson et al., "Evaluation techniques for storage hierarchies", 1970). It is counted by
// address: a value that takes the place of one just freed is near.
//
// What comes from memory goes past the shared cache: when the cores have lost it, it comes from
// memory again, and only then the shared cache keeps it, if that was soon enough. So as a large
// step streams through its arena, even what was written a moment ago is far.
#pragma once

#include <span>
#include <vector>

#include "memory/layout/plan.h"
#include "memory/recompute/costs.h"

namespace plimsoll {

// How many other bytes may be touched before something is gone. Up to so many all of it is still
// there, from kFarther times as many on nothing, and in between it goes by the logarithm. None is
// less than the one before. They are 0 on a GPU, whose costs do not depend on it.
struct Reach {
  int64_t own = 0;     // the caches that the cores have for themselves still hold it: it is near
  int64_t shared = 0;  // the shared cache hands it over without a wait for memory
  int64_t kept = 0;    // the shared cache keeps it when it is used again, though it is lost by then
};
constexpr int64_t kFarther = 2;

// Of the cores' own caches a quarter counts: ops also go through memory that they pack operands in,
// and what is written drives out what is not yet read. The shared one counts as no more than some
// times as much: a virtual machine has a part of it, and is not told which.
Reach reach(Device device);

// A piece of memory: of the arena (space -1), or of a buffer outside of it.
struct Range {
  int space = -1;
  int64_t begin = 0, bytes = 0;
};

// What was touched last, and what before.
class Recency {
 public:
  // Means over the bytes of a range, each from 0 to 1.
  struct Distance {
    double left = 0;     // is no longer in the cores' own caches
    double far = 0;      // comes from memory, or takes as long as if it did
    double passing = 0;  // is not going to be in the shared cache when the cores lose it
  };

  explicit Recency(const Reach& reach);

  // What was never touched is far and passing.
  Distance distance(const Range& range) const;
  void touch(const Range& range, double passing = 0);

 private:
  struct Touched {
    Range range;
    double passing;
  };
  Reach reach_;
  int64_t bytes_ = 0;
  std::vector<Touched> touched_;  // the latest last; they do not overlap
};

// Of each instruction in a step that runs again and again: by how far its operands and its
// workspace are, it costs between near and far: what the shared cache has costs that instruction's
// Cost::shared by its share of all bytes. Operands below 1 KiB do not count.
std::vector<double> seconds_in_context(const Program& program, const Plan& plan,
                                       std::span<const Cost> costs, const Reach& reach);
inline std::vector<double> seconds_in_context(const Program& program, const Plan& plan,
                                              std::span<const Cost> costs) {
  return seconds_in_context(program, plan, costs, reach(program.device));
}

}  // namespace plimsoll
