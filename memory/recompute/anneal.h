// The search in one timeline: greedily down, at random to a smaller peak, and at one peak by a
// large-neighbourhood search to less cost.
//
// That one keeps a few gaps again at random, repairs, prunes, takes what costs less, and less and
// less often what costs a little more (simulated annealing: Kirkpatrick et al., "Optimization by
// Simulated Annealing", 1983). What is found goes into a frontier, which may hold plans of other
// timelines too.
#pragma once

#include "memory/recompute/evict.h"
#include "memory/recompute/frontier.h"

namespace plimsoll::recompute {

class Search {
 public:
  // It looks at so many ops at most.
  Search(SharedTimeline timeline, int64_t effort, Frontier& frontier);

  int64_t steps() const { return evictor_.steps(); }  // ops looked at so far

  void consider(Choices choices);
  // Greedily below one target after another, from these choices until nothing more can go.
  void descend(Choices choices, int64_t rung);
  // To a peak at most as high as `enough`, from the choices with the smallest peak so far: some of
  // them changed at random, and down below the smallest of the frontier. Gives up after so many
  // tries without a gain.
  void lower(Choices choices, int64_t enough, int tries);
  // Greedily below one target, less what was not needed for that. Nothing is found where that is
  // not possible.
  void bring_below(int64_t target, Choices choices);
  // The cheapest plan of this timeline within the target is changed until the effort is spent or
  // one costs at most `enough`.
  void improve(int64_t target, double enough);

 private:
  Candidate note(Candidate candidate);
  Choices disturbed(Choices choices);

  SharedTimeline timeline_;
  int64_t effort_;
  Evictor evictor_;
  std::mt19937_64 random_{0};
  Frontier& frontier_;
};

}  // namespace plimsoll::recompute
