#include "memory/recompute/budget.h"

#include <algorithm>
#include <cmath>

#include "memory/passes/early_update.h"
#include "memory/recompute/program.h"
#include "memory/recompute/search.h"

namespace plimsoll {
namespace {

// The effort of one search out of so many.
recompute::SearchOptions search_options(const BudgetOptions& options, size_t searches) {
  check<ValueError>(options.search_seconds > 0 && options.search_seconds < 1e9,
                    "budget: the time to search must be above 0 and below 1e9 seconds: ",
                    options.search_seconds, ". Four are enough for most models.");
  return {.effort = static_cast<int64_t>(options.search_seconds * recompute::kStepsPerSecond /
                                         static_cast<double>(searches))};
}

std::vector<double> each(const std::vector<Cost>& costs, double farness) {
  std::vector<double> all;
  for (const Cost& cost : costs) all.push_back(cost.at(farness));
  return all;
}

}  // namespace

BudgetPlanner::Order::Order(Program given, const BudgetOptions& options, size_t orders)
    : program(std::move(given)),
      costs(instruction_costs(program, options.costs)),
      by_arena(std::ranges::any_of(costs, [](const Cost& c) { return c.far != c.near; })),
      timeline(recompute::problem_of(program, each(costs, kFarthest))),
      search(search_options(options, orders)) {}

const recompute::Frontier& BudgetPlanner::Order::frontier() const {
  if (!found) found = recompute::search(timeline, search);
  return *found;
}

recompute::Schedule BudgetPlanner::Order::schedule(size_t point) const {
  return recompute::Simulator(timeline).schedule(frontier()[point].choices);
}

const BudgetPlanner::Order::Estimate& BudgetPlanner::Order::estimate(size_t point) const {
  if (const auto known = estimates.find(point); known != estimates.end()) return known->second;
  const recompute::Schedule all = schedule(point);
  Estimate result{.arena_bytes = make_plan(recompute::rewrite(program, all)).arena_bytes};
  const double farness = arena_farness(result.arena_bytes);
  for (const recompute::Run& run : all) {
    if (run.op == std::ssize(costs)) break;  // there the results are read
    const double seconds = costs[run.op].at(farness);
    result.seconds += seconds;
    if (run.again) result.repeated += seconds;
  }
  return estimates.emplace(point, result).first->second;
}

BudgetPlanner::BudgetPlanner(Program program, const BudgetOptions& options) {
  Program early = update_early(program);
  const size_t orders = early.instructions == program.instructions ? 1 : 2;
  search_options(options, orders);  // bad ones are refused before anything is measured
  keep_ = make_plan(early);
  outside_ = keep_.total_bytes() - keep_.arena_bytes + keep_.result_bytes;
  orders_.emplace_back(std::move(early), options, orders);
  for (const double seconds : each(orders_[0].costs, arena_farness(keep_.arena_bytes)))
    keep_seconds_ += seconds;
  if (orders == 2) orders_.emplace_back(std::move(program), options, orders);
}

int64_t BudgetPlanner::smallest() const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Order& order : orders_)
    for (size_t point = 0; point < order.frontier().size(); ++point) {
      if (outside_ + order.frontier()[point].peak >= least) break;  // peaks rise
      least = std::min(least, outside_ + order.estimate(point).arena_bytes);
    }
  return least;
}

// Against the step that keeps all. Below 0 where a smaller arena makes the step faster by more than
// what runs again makes it slower.
double BudgetPlanner::added_seconds(const Order& order, size_t point) const {
  if (!order.by_arena) return order.frontier()[point].cost;
  return order.estimate(point).seconds - keep_seconds_;
}

// The cheapest plan of one order within the budget; its number of points when none is.
size_t BudgetPlanner::cheapest(const Order& order, int64_t budget) const {
  size_t best = order.frontier().size();
  for (size_t point = best; point-- > 0;) {
    if (outside_ + order.frontier()[point].peak > budget ||
        outside_ + order.estimate(point).arena_bytes > budget)
      continue;
    if (!order.by_arena) return point;  // those before it cost more
    if (best == order.frontier().size() || added_seconds(order, point) < added_seconds(order, best))
      best = point;
  }
  return best;
}

PlannedProgram BudgetPlanner::plan_within(int64_t asked, int64_t elsewhere) const {
  const int64_t budget = asked - elsewhere;
  if (largest() <= budget) {  // there is nothing to search for
    PlannedProgram planned{orders_.front().program, keep_};
    planned.plan.recompute = {.budget = asked, .step_seconds = keep_seconds_};
    return planned;
  }
  const Order* best = nullptr;
  size_t best_point = 0;
  for (const Order& order : orders_) {
    const size_t point = cheapest(order, budget);
    if (point == order.frontier().size()) continue;
    if (best && added_seconds(*best, best_point) <= added_seconds(order, point)) continue;
    best = &order;
    best_point = point;
  }
  check<BudgetError>(
      best, "step: the budget is too small: ", asked, " bytes, and the smallest plan found takes ",
      best ? 0 : smallest() + elsewhere,
      ". Allow that many, search longer, or take a smaller batch or 16-bit precision.");
  PlannedProgram planned{recompute::rewrite(best->program, best->schedule(best_point)), {}};
  planned.plan = make_plan(planned.program);
  double bound = std::numeric_limits<double>::infinity();
  for (const Order& order : orders_) {
    const recompute::Timeline nearest(recompute::problem_of(order.program, each(order.costs, 0)));
    bound = std::min(bound, recompute::least_added_cost(nearest, budget - outside_));
  }
  planned.plan.recompute = {.budget = asked,
                            .repetitions = static_cast<int>(planned.program.instructions.size() -
                                                            best->program.instructions.size()),
                            .step_seconds = keep_seconds_,
                            .repeated_seconds = best->estimate(best_point).repeated,
                            // None is searched for where all can be kept, so it counts as nothing.
                            .added_seconds = std::max(0.0, added_seconds(*best, best_point)),
                            .least_repeated_seconds = bound};
  return planned;
}

}  // namespace plimsoll
