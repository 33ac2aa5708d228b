// Training within a budget of bytes: rewrites a captured step so that it never holds more, by
// making some values again instead of keeping them. The bits of its results do not change.
//
//   const BudgetPlanner planner(program, {});
//   planner.smallest();                        // bytes; less is refused
//   const PlannedProgram planned = planner.plan_within(int64_t{300} << 20);
//   planned.plan.total_bytes()                  // <= 300 MiB - the results of the run before
//   planned.plan.recompute.added_seconds        // what it costs
//
// The plans for all budgets are searched at once (recompute/search.h), so that a larger budget
// never costs more time, and the smallest that was found is known: planner.smallest() works, one
// granule less is refused. A longer search may find a smaller one. One thread at a time.
//
// The search adds up costs as in the largest arena. Of the plans that it finds and that fit, the
// one that costs least in its own arena (costs.h) is taken.
#pragma once

#include <map>
#include <optional>

#include "memory/layout/plan.h"
#include "memory/recompute/budget_options.h"
#include "memory/recompute/search.h"

namespace plimsoll {

struct PlannedProgram {
  Program program;
  Plan plan;
};

class BudgetPlanner {
 public:
  // ValueError when search_seconds is not above 0 and below 1e9.
  BudgetPlanner(Program program, const BudgetOptions& options);

  // What plans take, Plan::total_bytes() and the results of the run before once more: whoever says
  // loss = step(x, y) holds one loss while the next is made.
  int64_t smallest() const;                                         // of all plans found
  int64_t largest() const { return outside_ + keep_.arena_bytes; }  // without recompute

  // The cheapest plan that takes, with `elsewhere` that is held besides, at most the budget.
  // BudgetError naming the smallest budget that would do.
  PlannedProgram plan_within(int64_t budget, int64_t elsewhere = 0) const;

 private:
  // The step with its updates early, and as it was captured: an early update saves gradients, but
  // what is made of the old parameter cannot be made again after it.
  struct Order {
    Order(Program given, const BudgetOptions& options, size_t orders);
    recompute::Schedule schedule(size_t point) const;
    struct Estimate {
      int64_t arena_bytes = 0;
      double seconds = 0, repeated = 0;  // of the whole step, of what runs again
    };
    const Estimate& estimate(size_t point) const;
    const recompute::Frontier& frontier() const;  // searched when it is asked for first

    Program program;
    std::vector<Cost> costs;       // of each instruction
    bool by_arena;                 // some cost is not the same near and far
    recompute::Timeline timeline;  // at costs as in the largest arena
    recompute::SearchOptions search;
    mutable std::optional<recompute::Frontier> found;
    mutable std::map<size_t, Estimate> estimates;  // of the points that were looked at
  };
  double added_seconds(const Order& order, size_t point) const;
  size_t cheapest(const Order& order, int64_t budget) const;

  std::vector<Order> orders_;
  Plan keep_;  // of the first of them, without recompute
  double keep_seconds_ = 0;
  int64_t outside_ = 0;  // bytes taken besides the arena, the same by every plan
};

}  // namespace plimsoll
