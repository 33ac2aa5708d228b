// The search for what to recompute: how little time each size of memory costs.
//
//   const Frontier frontier = search_at(int64_t{300} << 20, problem, {.effort = 50'000'000});
//   frontier.front().peak              // the smallest that was found possible
//   frontier.back().cost               // 0: all is kept, or made again for nothing
//   schedule(frontier.front())         // what runs, in order
//
// It starts from keeping all, from the plans of textbooks (segments.h) and from certificates, and
// from these evicts greedily, so that for each size of memory there is a plan, and on request down
// to the smallest peak. For the size that is asked for a few of them are improved (anneal.h), those
// for more memory brought down first. Then it begins again on what was found: what runs again in a
// plan has turns in the plan's own timeline, and gaps between them that no timeline before had. The
// plans race, on all threads: after each round the worse ones are left, and the others have more of
// the effort. It ends when that is spent, or when the certificate says that there is hardly
// anything left to find. Effort is counted in ops that are looked at, in a simulation or to say
// what a gap costs, not in seconds: equal problems give equal plans, on any number of threads.
#pragma once

#include "memory/recompute/frontier.h"

namespace plimsoll::recompute {

constexpr double kStepsPerSecond = 8e7;  // ops that are looked at, on a core of 2025

struct SearchOptions {
  int64_t effort = 40'000'000;  // ops looked at: half a second
  bool lowest = true;           // a third of the effort at most goes into the smallest peak
};

// Down to the smallest peak.
struct Descent {
  Frontier points;
  int64_t effort_left = 0;
};
Descent descend(const Problem& problem, const SearchOptions& options = {});
// The same from plans of a like problem instead of those of textbooks. All of the effort goes into
// the smallest peak.
Descent descend_from(const Frontier& starts, const Problem& problem,
                     const SearchOptions& options = {});
// Plans of a search at other costs or for a like problem, for this one.
Frontier evaluate(const Frontier& starts, const Problem& problem);
// Better plans for one size of memory, with all of the effort, beginning with any plans.
Frontier improve_at(int64_t peak, const Problem& problem, const SearchOptions& options,
                    const Frontier& starts);
// Both together, without the smallest peak: all that is left of the effort is for this size.
Frontier search_at(int64_t peak, const Problem& problem, const SearchOptions& options = {});

}  // namespace plimsoll::recompute
