// How good a plan is, without trust: no plan within the budget can cost less than this.
//
//   least_added_cost(timeline, budget)    // seconds; infinity: no plan fits
//
// When an op runs for the first time, everything made before it and used after it is there or will
// be made again. So what exceeds the budget at that moment must be made again at least once, and
// the cheapest way of choosing it by fractions (a knapsack, Dantzig 1957) bounds the added cost from
// below. The largest bound over all moments counts.
#pragma once

#include "memory/recompute/problem.h"

namespace plimsoll::recompute {

// `budget` in bytes, of what the problem's storages and workspaces take.
double least_added_cost(const Timeline& timeline, int64_t budget);

}  // namespace plimsoll::recompute
