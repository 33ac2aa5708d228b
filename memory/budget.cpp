#include "memory/budget.h"

#include <cmath>
#include <numeric>

#include "memory/early_update.h"
#include "memory/recompute/certificate.h"
#include "memory/recompute/program.h"

namespace plimsoll {
namespace {

// The effort of one search out of so many.
recompute::SearchOptions search_options(const BudgetOptions& options, size_t searches) {
  check<ValueError>(options.search_seconds > 0 && options.search_seconds < 1e9,
                    "budget: the time to search must be a number of seconds above 0: ",
                    options.search_seconds, ". Four are enough for most models.");
  return {.effort = static_cast<int64_t>(options.search_seconds * recompute::kStepsPerSecond /
                                         static_cast<double>(searches))};
}

}  // namespace

BudgetPlanner::Order::Order(Program given, const BudgetOptions& options, size_t orders)
    : program(std::move(given)),
      costs(instruction_costs(program, options.costs)),
      timeline(recompute::problem_of(program, costs)),
      search(search_options(options, orders)) {}

const recompute::Frontier& BudgetPlanner::Order::frontier() const {
  if (!found) found = recompute::search(timeline, search);
  return *found;
}

Program BudgetPlanner::Order::rewritten(size_t point) const {
  recompute::Simulator simulator(timeline);
  return recompute::rewrite(program, simulator.schedule(frontier()[point].choices));
}

const Plan& BudgetPlanner::Order::planned(size_t point) const {
  const auto [entry, is_new] = plans.try_emplace(point);
  if (is_new) entry->second = make_plan(rewritten(point));
  return entry->second;
}

BudgetPlanner::BudgetPlanner(Program program, const BudgetOptions& options) {
  Program early = update_early(program);
  const size_t orders = early.instructions == program.instructions ? 1 : 2;
  keep_ = make_plan(early);
  outside_ = keep_.total_bytes() - keep_.arena_bytes + keep_.result_bytes;
  orders_.emplace_back(std::move(early), options, orders);
  if (orders == 2) orders_.emplace_back(std::move(program), options, orders);
}

int64_t BudgetPlanner::smallest() const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Order& order : orders_)
    for (size_t point = 0; point < order.frontier().size(); ++point) {
      if (outside_ + order.frontier()[point].peak >= least) break;  // peaks rise
      least = std::min(least, outside_ + order.planned(point).arena_bytes);
    }
  return least;
}

// The cheapest plan of one order within the budget; its number of points when none is.
size_t BudgetPlanner::cheapest(const Order& order, int64_t budget) const {
  for (size_t point = order.frontier().size(); point-- > 0;)  // costs rise
    if (outside_ + order.frontier()[point].peak <= budget &&
        outside_ + order.planned(point).arena_bytes <= budget)
      return point;
  return order.frontier().size();
}

Fitted BudgetPlanner::fit(int64_t asked, int64_t elsewhere) const {
  const int64_t budget = asked - elsewhere;
  const auto seconds = [](const Order& order) {
    return std::accumulate(order.costs.begin(), order.costs.end(), 0.0);
  };
  if (largest() <= budget) {  // there is nothing to search for
    Fitted fitted{orders_.front().program, keep_};
    fitted.plan.recompute = {.budget = asked, .step_seconds = seconds(orders_.front())};
    return fitted;
  }
  const Order* best = nullptr;
  size_t best_point = 0;
  for (const Order& order : orders_) {
    const size_t point = cheapest(order, budget);
    if (point == order.frontier().size()) continue;
    if (best && best->frontier()[best_point].cost <= order.frontier()[point].cost) continue;
    best = &order;
    best_point = point;
  }
  check<BudgetError>(
      best, "step: the budget is too small: ", asked, " bytes, and the smallest plan found takes ",
      best ? 0 : smallest() + elsewhere,
      ". Allow that many, search longer, or take a smaller batch or 16-bit precision.");
  Fitted fitted{best->rewritten(best_point), best->planned(best_point)};
  double bound = std::numeric_limits<double>::infinity();
  for (const Order& order : orders_)
    bound = std::min(bound, recompute::least_added_cost(order.timeline, budget - outside_));
  fitted.plan.recompute = {.budget = asked,
                           .repetitions = static_cast<int>(fitted.program.instructions.size() -
                                                           best->program.instructions.size()),
                           .step_seconds = seconds(*best),
                           .added_seconds = best->frontier()[best_point].cost,
                           .least_added_seconds = bound};
  return fitted;
}

}  // namespace plimsoll
