#include "memory/recompute/budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "memory/recompute/certificate.h"
#include "memory/recompute/program.h"
#include "memory/recompute/search.h"

namespace plimsoll {
namespace {

constexpr int64_t kLike = 5;  // a planner like another makes do with so many-th of its effort,
constexpr int64_t kLikeSmallest = 4;   // and with so many-th of that for its smallest
constexpr int64_t kSoon = 30'000'000;  // steps for the smallest: 0.4 s,
constexpr int64_t kSmallest = 20;      // or so many-th of the effort
constexpr int64_t kEnough = 8;         // and so many-th at least for each size that is asked for
constexpr int kTries = 3;              // sizes that are searched for a budget
constexpr double kDear = 0.1;          // of a step: who pays more is told what more memory costs

// The effort of one search out of so many.
recompute::SearchOptions search_options(const BudgetOptions& options, size_t searches) {
  check<ValueError>(options.search_seconds > 0 && options.search_seconds < 1e9,
                    "budget: the time to search must be above 0 and below 1e9 seconds: ",
                    options.search_seconds, ". Two are enough for most models.");
  return {.effort = static_cast<int64_t>(options.search_seconds * recompute::kStepsPerSecond /
                                         static_cast<double>(searches))};
}

std::vector<double> each(const std::vector<Cost>& costs, double farness) {
  std::vector<double> all;
  for (const Cost& cost : costs) all.push_back(cost.at(farness));
  return all;
}

// Whether plans for one are plans for the other: the same ops use the same storages, of whatever
// sizes and at whatever costs.
bool same_uses(const recompute::Problem& a, const recompute::Problem& b) {
  const auto same = [](const recompute::Op& x, const recompute::Op& y) {
    return x.reads == y.reads && x.writes == y.writes && x.repeatable_before == y.repeatable_before;
  };
  return a.storages.size() == b.storages.size() && std::ranges::equal(a.ops, b.ops, same);
}

double sum_of(const std::vector<double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

}  // namespace

BudgetPlanner::Order::Order(Program given, const recompute::SearchOptions& options)
    : program(std::move(given)),
      modelled(recompute::problem_of(
          program, each(instruction_costs(program, CostModel::model), kFarthest))),
      search(options) {}

const recompute::Descent& BudgetPlanner::Order::lowest() const {
  if (low) return *low;
  recompute::SearchOptions part = search;
  if (starts.empty()) {
    part.effort = std::min(search.effort, std::max(kSoon, search.effort / kSmallest));
    low = recompute::descend(modelled, part);
  } else {
    part.effort /= kLikeSmallest;
    low = recompute::descend_from(starts, modelled, part);
  }
  low->effort_left += search.effort - part.effort;
  return *low;
}

const BudgetPlanner::Order::Least& BudgetPlanner::Order::least() const {
  if (smallest) return *smallest;
  for (const recompute::Point& point : lowest().points) {
    if (smallest && point.peak >= smallest->arena_bytes) break;  // peaks rise
    const int64_t arena = arena_bytes(point);
    if (!smallest || arena < smallest->arena_bytes) smallest = {point, arena};
  }
  return *smallest;
}

int64_t BudgetPlanner::Order::arena_bytes(const recompute::Point& point) const {
  return make_plan(recompute::rewrite(program, recompute::schedule(point))).arena_bytes;
}

BudgetPlanner::Priced::Priced(const Order& of, std::vector<Cost> given)
    : order(&of),
      costs(std::move(given)),
      once(sum_of(each(costs, kFarthest))),
      by_arena(std::ranges::any_of(costs, [](const Cost& c) { return c.far != c.near; })) {
  const recompute::Problem problem = recompute::problem_of(order->program, each(costs, kFarthest));
  recompute::Frontier starts = order->lowest().points;
  recompute::SearchOptions options = order->search;
  options.effort = order->lowest().effort_left;
  if (costs != instruction_costs(order->program, CostModel::model)) {
    options.lowest = false;  // what would be below the smallest is refused
    recompute::Descent own = recompute::descend(problem, options);
    options.effort = own.effort_left;
    std::ranges::move(own.points, std::back_inserter(starts));
  }
  effort_left = options.effort;
  points = recompute::evaluate(starts, problem);
}

// It can cost more than another that needs as little but lies less densely.
void BudgetPlanner::Priced::add_least() const {
  const recompute::Problem problem = recompute::problem_of(order->program, each(costs, kFarthest));
  points.push_back(recompute::evaluate({order->least().plan}, problem).front());
}

// The first size that is asked for gets most of what is left, the next most of the rest.
void BudgetPlanner::Priced::improve_at(int64_t peak) const {
  recompute::SearchOptions options = order->search;
  options.effort = std::max(effort_left / 4 * 3, options.effort / kEnough);
  effort_left -= options.effort;
  const recompute::Problem problem = recompute::problem_of(order->program, each(costs, kFarthest));
  for (recompute::Point& point : recompute::improve_at(peak, problem, options, points)) {
    const auto known = [&](const recompute::Point& other) {
      return other.peak <= point.peak && other.cost <= point.cost;
    };
    if (std::ranges::none_of(points, known)) points.push_back(std::move(point));
  }
}

const BudgetPlanner::Priced::Estimate& BudgetPlanner::Priced::estimate(size_t point) const {
  if (const auto known = estimates.find(point); known != estimates.end()) return known->second;
  Estimate result{.arena_bytes = order->arena_bytes(points[point])};
  const double farness = arena_farness(result.arena_bytes);
  for (const recompute::Run& run : recompute::schedule(points[point])) {
    if (run.op == std::ssize(costs)) break;  // there the results are read
    const double seconds = costs[run.op].at(farness);
    result.seconds += seconds;
    if (run.again) result.repeated += seconds;
  }
  return estimates.emplace(point, result).first->second;
}

BudgetPlanner::BudgetPlanner(std::vector<Program> orders, const BudgetOptions& options, Costs costs,
                             const BudgetPlanner* like)
    : costs_(std::move(costs)), keep_(make_plan(orders.front())) {
  const recompute::SearchOptions search = search_options(options, orders.size());
  if (!costs_)
    costs_ = [model = options.costs](const Program& program) {
      return instruction_costs(program, model);
    };
  outside_ = keep_.total_bytes() - keep_.arena_bytes + keep_.result_bytes;
  for (Program& program : orders) orders_.emplace_back(std::move(program), search);
  if (like) begin_like(*like);
}

void BudgetPlanner::begin_like(const BudgetPlanner& other) {
  for (size_t k = 0; k < std::min(orders_.size(), other.orders_.size()); ++k) {
    Order& own = orders_[k];
    const Order& known = other.orders_[k];
    if (!known.low || !same_uses(own.modelled, known.modelled)) continue;
    own.search.effort /= kLike;
    own.starts = other.priced_.size() > k ? other.priced_[k].points : known.low->points;
  }
}

int64_t BudgetPlanner::smallest() const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Order& order : orders_) least = std::min(least, outside_ + order.least().arena_bytes);
  return least;
}

// The smallest plans repeat most, and are placed only where what repeats less does not decide.
bool BudgetPlanner::possible(int64_t budget) const {
  if (largest() <= budget) return true;
  bool unknown = false;
  for (const Order& order : orders_) {
    const recompute::Frontier& points = order.lowest().points;
    const auto above =
        std::ranges::upper_bound(points, budget - outside_, {}, &recompute::Point::peak);
    if (above == points.begin()) continue;
    if (outside_ + order.arena_bytes(*std::prev(above)) <= budget) return true;
    unknown = true;
  }
  return unknown && smallest() <= budget;
}

const std::vector<BudgetPlanner::Priced>& BudgetPlanner::priced() const {
  if (priced_.empty())
    for (const Order& order : orders_) priced_.emplace_back(order, costs_(order.program));
  return priced_;
}

double BudgetPlanner::keep_seconds() const {
  return sum_of(each(priced()[0].costs, arena_farness(keep_.arena_bytes)));
}

// Against the step that keeps all. Below 0 where a smaller arena makes the step faster by more than
// what runs again makes it slower.
double BudgetPlanner::added_seconds(const Priced& order, size_t point) const {
  if (!order.by_arena) return order.points[point].cost + order.once - priced_[0].once;
  return order.estimate(point).seconds - keep_seconds();
}

// The cheapest plan of one order within the budget; its number of points when none is.
size_t BudgetPlanner::cheapest(const Priced& order, int64_t budget) const {
  const size_t none = order.points.size();
  size_t best = none;
  for (size_t point = none; point-- > 0;) {
    const recompute::Point& candidate = order.points[point];
    if (outside_ + candidate.peak > budget) continue;
    // A plan is placed only where that decides.
    if (!order.by_arena && best != none && candidate.cost >= order.points[best].cost) continue;
    if (outside_ + order.estimate(point).arena_bytes > budget) continue;
    if (best == none || added_seconds(order, point) < added_seconds(order, best)) best = point;
  }
  return best;
}

std::pair<const BudgetPlanner::Priced*, size_t> BudgetPlanner::cheapest(int64_t budget) const {
  std::pair<const Priced*, size_t> best{};
  for (const Priced& order : priced()) {
    const size_t point = cheapest(order, budget);
    if (point == order.points.size()) continue;
    if (best.first && added_seconds(*best.first, best.second) <= added_seconds(order, point))
      continue;
    best = {&order, point};
  }
  return best;
}

size_t BudgetPlanner::Priced::cheapest_at(int64_t peak) const {
  size_t best = points.size();
  for (size_t k = 0; k < points.size(); ++k)
    if (points[k].peak <= peak && (best == points.size() || points[k].cost < points[best].cost))
      best = k;
  return best;
}

// When a plan is placed, something is lost between buffers, of a better one about as much: a plan
// is searched that takes so much less, and where that does not fit, less by what was too much.
void BudgetPlanner::Priced::search_within(int64_t room) const {
  int64_t size = room;
  if (const size_t known = cheapest_at(room); known < points.size())
    size -= std::max<int64_t>(0, estimate(known).arena_bytes - points[known].peak);
  for (int tries = 1; tries <= kTries; ++tries) {
    improve_at(size);
    const size_t found = cheapest_at(size);
    if (found == points.size() || estimate(found).arena_bytes <= room) return;
    size -= tries * (estimate(found).arena_bytes - room);
  }
}

std::pair<const BudgetPlanner::Priced*, size_t> BudgetPlanner::search_within(int64_t budget) const {
  for (const Priced& order : priced()) order.search_within(budget - outside_);
  const auto best = cheapest(budget);
  if (best.first) return best;
  for (const Priced& order : priced()) order.add_least();
  return cheapest(budget);
}

PlannedProgram BudgetPlanner::plan_within(int64_t asked, int64_t elsewhere) const {
  const int64_t budget = asked - elsewhere;
  if (largest() <= budget) {  // there is nothing to search for
    PlannedProgram planned{orders_.front().program, keep_};
    planned.plan.recompute.budget = asked;
    return planned;
  }
  if (!possible(budget))
    fail<BudgetError>("step: the budget is too small: ", asked,
                      " bytes, and the smallest plan found takes ", smallest() + elsewhere,
                      " with the results of the run before. Allow that many, search longer, or "
                      "take a smaller batch or 16-bit precision.");
  const auto [best, best_point] = search_within(budget);
  const Program& program = best->order->program;
  PlannedProgram planned{recompute::rewrite(program, recompute::schedule(best->points[best_point])),
                         {}};
  planned.plan = make_plan(planned.program);
  double bound = std::numeric_limits<double>::infinity();
  for (const Priced& order : priced()) {
    const recompute::Timeline nearest(
        recompute::problem_of(order.order->program, each(order.costs, 0)));
    bound = std::min(bound, recompute::certify(nearest, budget - outside_).least_added_cost);
  }
  planned.plan.recompute = {.budget = asked,
                            .repetitions = static_cast<int>(planned.program.instructions.size() -
                                                            program.instructions.size()),
                            .step_seconds = keep_seconds(),
                            .repeated_seconds = best->estimate(best_point).repeated,
                            // None is searched for where all can be kept, so it counts as nothing.
                            .added_seconds = std::max(0.0, added_seconds(*best, best_point)),
                            .least_repeated_seconds = bound};
  // Near the smallest memory a little more saves much.
  Recompute& cost = planned.plan.recompute;
  if (cost.added_seconds > kDear * cost.step_seconds) {
    const auto [other, point] = search_within(budget + asked / 20);
    const double added = std::max(0.0, added_seconds(*other, point));
    if (added < cost.added_seconds / 2) {
      cost.larger_budget = outside_ + other->estimate(point).arena_bytes + elsewhere;
      cost.larger_added_seconds = added;
    }
  }
  for (const Cost& each : best->costs)
    cost.cores_of_others = std::max(cost.cores_of_others, each.others);
  return planned;
}

}  // namespace plimsoll
