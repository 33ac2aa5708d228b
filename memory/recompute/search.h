// The search for what to recompute: how little time each size of memory costs.
//
//   const Frontier frontier = search_at(int64_t{300} << 20, timeline, {.effort = 50'000'000});
//   frontier.front().peak              // the smallest that was found possible
//   frontier.back().cost               // 0: all is kept, or made again for nothing
//
// It starts from keeping all, from the plans of textbooks (a backward pass in segments: Chen et
// al., "Training Deep Nets with Sublinear Memory Cost", 2016) and from certificates, and from these
// evicts greedily, down to the smallest peak. So for each size of memory there is a plan, and the
// smallest is known. For the size that is asked for the best of them is improved by a
// large-neighbourhood search: keep a few gaps again at random, repair, prune, take it if it costs
// less, and less and less often if it costs a little more (simulated annealing: Kirkpatrick et al.,
// "Optimization by Simulated Annealing", 1983). It ends when the effort is spent, or when the
// certificate says that there is hardly anything left to find. Effort is counted in ops that are
// looked at, in a simulation or to say what a gap costs, not in seconds: equal problems give equal
// plans.
#pragma once

#include "memory/recompute/evict.h"

namespace plimsoll::recompute {

constexpr double kStepsPerSecond = 8e7;  // ops that are looked at, on a core of 2025

struct SearchOptions {
  int64_t effort = 40'000'000;  // ops looked at: half a second
  bool lowest = true;           // a third of the effort at most goes into the smallest peak
};

struct Point {
  int64_t peak = 0;
  double cost = 0;
  Choices choices{};
};
using Frontier = std::vector<Point>;  // peaks rise, costs fall

// Down to the smallest peak.
struct Descent {
  Frontier points;
  int64_t effort_left = 0;
};
Descent descend(const Timeline& timeline, const SearchOptions& options = {});
// The same from plans of a like problem, of which only `choices` are read, instead of those of
// textbooks. All of the effort goes into the smallest peak.
Descent descend_from(const Frontier& starts, const Timeline& timeline,
                     const SearchOptions& options = {});
// Plans of a search at other costs, at these: of the points only `choices` are read.
Frontier evaluate(const Frontier& starts, const Timeline& timeline);
// Better plans for one size of memory, with all of the effort, beginning with any choices.
Frontier improve_at(int64_t peak, const Timeline& timeline, const SearchOptions& options,
                    const Frontier& starts);
// Both together: descend(), and what is left of the effort for this size of memory.
Frontier search_at(int64_t peak, const Timeline& timeline, const SearchOptions& options = {});

// What textbooks do: the step is cut into segments before the moment with the most bytes alive;
// what is alive at a cut is kept, everything else that is needed later is made again, a segment at
// a time. From 1 segment to about 2 sqrt(n), each cut where little is alive; `most` plans at most.
std::vector<Choices> segment_plans(const Timeline& timeline,
                                   int most = std::numeric_limits<int>::max());

}  // namespace plimsoll::recompute
