// Exercise 3, solved as textbooks do it: of the values that wait for the backward pass, every k-th
// is kept and the others are made again. The k that costs least within the budget is taken.
#include "examples/tour/exercises/exercises.h"

namespace plimsoll::exercises {

using recompute::Choice;
using recompute::Choices;

recompute::Choices choose(const recompute::Timeline& timeline, int64_t budget) {
  constexpr int kLong = 8;  // ops: what waits longer waits for the backward pass
  std::vector<int> waiting;
  for (int gap = 0; gap < timeline.gaps(); ++gap)
    if (timeline.can_evict(gap) && timeline.next_use[gap] - timeline.begin_of(gap) > kLong)
      waiting.push_back(gap);

  recompute::Simulator simulator(timeline);
  const Choices keep = as_planned(timeline);
  Choices best = keep;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 2; k <= std::ssize(waiting); ++k) {
    Choices choices = keep;
    for (int i = 0; i < std::ssize(waiting); ++i)
      if (i % k != 0)
        choices[static_cast<size_t>(waiting[static_cast<size_t>(i)])] = Choice::recompute;
    const recompute::Outcome outcome = simulator.run(choices);
    if (!outcome.possible || outcome.peak > budget || outcome.cost >= least) continue;
    least = outcome.cost;
    best = std::move(choices);
  }
  return best;
}

}  // namespace plimsoll::exercises
