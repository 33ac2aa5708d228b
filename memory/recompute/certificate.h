// How good a plan is, without trust: what no plan within so many bytes costs less than.
//
//   certify(timeline, int64_t{300} << 20).least_added_cost     // infinity: no plan is within it
//
// When an op runs for the first time, everything made before it and used after it is there, or is
// made again later, of what is there or is made again itself; and what is there has room. The
// cheapest choice of what runs again that is so at one moment bounds the cost of all plans from
// below. It is a knapsack whose items need one another. With a price for each byte that is there
// instead of the limit, it is a minimum cut between what need not run again and what is used later
// (Picard, "Maximal Closure of a Graph and Applications to Combinatorial Problems", 1976), and for
// any price that is a bound too (Lagrangian relaxation: Geoffrion, 1974). The price of the largest
// bound is found where the choices of two prices cost the same. The largest over all moments
// counts.
//
// Where a step is one forward and one backward pass, most is alive between them, and the bound of
// that moment is often what the best plan costs. Of what runs again so much more than once that it
// has no room itself, near the smallest memory, it knows nothing.
#pragma once

#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {

struct Certificate {
  double least_added_cost = 0;
  int moment = -1;  // the op before which it is so; -1: nothing need be missing, or no plan
  std::vector<char> again{};  // of each op, whether it runs again after the moment by a choice that
                              // is within the budget there and near to the bound
  int64_t looked_at = 0;      // storages and edges
};

// Of storages and workspaces, at the costs of the timeline, in which each op has one turn. Moments
// with the most bytes come first; it ends when it has looked at so many storages and edges, as the
// bound of some moments is one.
Certificate certify(const Timeline& timeline, int64_t budget, int64_t effort = 100'000'000);

// A plan that follows that choice, to begin with: what is to run again does so when it is needed
// first, and stays. At other moments it may exceed the budget. Empty: something could not run again
// so late.
Schedule schedule_of(const Certificate& certificate, const Problem& problem);

}  // namespace plimsoll::recompute
