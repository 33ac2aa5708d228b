// Training within a budget of bytes: rewrites a captured step so that it never holds more, by
// making some values again instead of keeping them. The bits of its results do not change.
//
//   const BudgetPlanner planner({update_early(program), program}, {});
//   planner.smallest();                        // bytes; less is refused
//   const PlannedProgram planned = planner.plan_within(int64_t{300} << 20);
//   planned.plan.total_bytes()                  // <= 300 MiB - the results of the run before
//   planned.plan.recompute.added_seconds        // what it costs
//
// The smallest plan that was found is known (recompute/search.h): planner.smallest() works, one
// granule less is refused. In each order of the instructions it is searched for 0.4 s, or a
// twentieth of the order's effort if that is more, so that what is not possible is refused soon.
// What is asked for is then searched by itself, and what was found for budgets before it is kept:
// a budget never costs more time than a smaller one that was asked for before. One thread at a
// time.
//
// What is the smallest is searched by the model's costs, whatever the options say: so equal
// programs have equal smallest budgets, in each process and on each day, and measuring is left for
// the budgets between it and all. There the search adds up costs as in the largest arena. Of the
// plans that it finds and that fit, the one that costs least in its own arena (costs.h) is taken.
#pragma once

#include <deque>
#include <functional>
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
  using Costs = std::function<std::vector<Cost>(const Program&)>;

  // `orders`: the same step with its instructions in other orders, of which the cheapest plan is
  // taken; the first is what runs where there is room for all (memory/step/passes.h has them).
  // `costs` are those of `options` where they are left out; asked for when a budget needs them.
  // ValueError when search_seconds is not above 0 and below 1e9.
  // `like`: a planner of the same step for other sizes, as another batch. Where its programs have
  // the same instructions, what it found by now is where the search begins, and there is no other:
  // a fifth of the effort is enough, and no more is spent.
  BudgetPlanner(std::vector<Program> orders, const BudgetOptions& options, Costs costs = {},
                const BudgetPlanner* like = nullptr);

  // What plans take, Plan::total_bytes() and the results of the run before once more: whoever says
  // loss = step(x, y) holds one loss while the next is made.
  int64_t smallest() const;                                         // of all plans found
  bool possible(int64_t budget) const;                              // smallest() <= budget
  int64_t largest() const { return outside_ + keep_.arena_bytes; }  // without recompute

  double keep_seconds() const;  // predicted, of a step that keeps all

  // The cheapest plan that takes, with `elsewhere` that is held besides, at most the budget.
  // BudgetError naming the smallest budget that would do. Where all can be kept, nothing is
  // measured, and the plan's times are 0.
  PlannedProgram plan_within(int64_t budget, int64_t elsewhere = 0) const;

 private:
  // One order of the instructions, with what was found for it so far.
  struct Order {
    Order(Program given, const recompute::SearchOptions& options);
    const recompute::Descent& lowest() const;  // searched by the model's costs
    struct Least {
      recompute::Point plan;
      int64_t arena_bytes;
    };
    const Least& least() const;  // of them, what has the smallest arena
    int64_t arena_bytes(const recompute::Point& point) const;

    Program program;
    recompute::Problem modelled;  // at the model's costs
    recompute::SearchOptions search;
    recompute::Frontier starts{};  // of a planner of like programs
    mutable std::optional<recompute::Descent> low;
    mutable std::optional<Least> smallest;
  };
  // The same at the costs that are asked for.
  struct Priced {
    Priced(const Order& order, std::vector<Cost> given);
    struct Estimate {
      int64_t arena_bytes = 0;
      double seconds = 0, repeated = 0;  // of the whole step, of what runs again
    };
    const Estimate& estimate(size_t point) const;
    void improve_at(int64_t peak) const;     // adds points of this size
    void search_within(int64_t room) const;  // and of such as fit once they are placed
    size_t cheapest_at(int64_t peak) const;  // before it is placed; none: the number of points
    void add_least() const;                  // the order's least() too

    const Order* order;
    std::vector<Cost> costs;  // of each instruction
    double once;              // of all of them
    bool by_arena;            // some cost is not the same near and far
    // What was found at first, then for budgets that were asked for.
    mutable recompute::Frontier points;
    mutable int64_t effort_left;
    mutable std::map<size_t, Estimate> estimates;  // of the points that were looked at
  };
  void begin_like(const BudgetPlanner& other);
  const std::vector<Priced>& priced() const;
  double added_seconds(const Priced& order, size_t point) const;
  size_t cheapest(const Priced& order, int64_t budget) const;
  // Of all orders; nullptr where none has a plan within it.
  std::pair<const Priced*, size_t> cheapest(int64_t budget) const;
  // The same after a search for this budget, within which there is a plan.
  std::pair<const Priced*, size_t> search_within(int64_t budget) const;

  std::deque<Order> orders_;
  Costs costs_;
  Plan keep_;            // of the first of them, without recompute
  int64_t outside_ = 0;  // bytes taken besides the arena, the same by every plan
  mutable std::vector<Priced> priced_;
};

}  // namespace plimsoll
