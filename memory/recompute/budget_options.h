// How to search for a plan within a budget (budget.h), apart from what does it: whoever includes
// Step need not read the search.
//
//   Step step(train, {.budget = int64_t{300} << 20, .planning = {.search_seconds = 10}});
#pragma once

#include "memory/recompute/costs.h"

namespace plimsoll {

struct BudgetOptions {
  CostModel costs = CostModel::measured;
  // How long to search, in seconds of a core of 2025. Counted in steps of the search, not by a
  // clock: with CostModel::model equal programs give equal plans.
  double search_seconds = 2;
};

}  // namespace plimsoll
