#include "memory/recompute/search.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::recompute {
namespace {

constexpr size_t kDescents = 6;
constexpr int64_t kRungs = 64;         // of a descent, from keeping all to nothing
constexpr int kPrunes = 6;             // of a random repair
constexpr double kNoise = 1.2;         // of the random repairs
constexpr double kLittleNoise = 0.3;   // of half of them at one size
constexpr double kHeat = 0.002;        // of a step: what is taken though it costs more
constexpr double kWorthPruning = 1.3;  // times the cost that is to be beaten
constexpr int kTriesLower = 2500;      // without a gain, of the search for the smallest peak
constexpr size_t kFew = 8;             // plans that it begins with where it has one aim
constexpr double kGain = 1 - 1e-12;    // what counts as less
constexpr int kBlocked = 20;           // gaps that are kept one by one, for a textbook's plan

class Search {
 public:
  Search(const Timeline& timeline, const SearchOptions& options)
      : timeline_(timeline), options_(options), evictor_(timeline), random_(0) {}

  Descent descend() {
    const Candidate keep = keep_all();
    const int64_t highest = keep.outcome.peak;
    if (timeline_.gaps() == 0 || highest == 0) return {std::move(frontier_)};  // nothing to decide
    const int64_t affordable = options_.effort / 8 / timeline_.ops();
    for (Choices& choices :
         segment_plans(timeline_, static_cast<int>(std::min<int64_t>(affordable, timeline_.ops()))))
      add(evictor_.evaluate(std::move(choices)));
    // Downwards, from keeping all and from the best of the textbooks' plans.
    const Frontier starts = frontier_;
    for (size_t k = 0; k < kDescents; ++k) {
      const size_t start = starts.size() - 1 - k * starts.size() / kDescents;
      evict_in_rungs(evictor_.evaluate(starts[start].choices), highest,
                     options_.effort / 3 * static_cast<int64_t>(k + 1) / kDescents);
    }
    if (options_.lowest) lower_smallest_peak(0, options_.effort / 3, 2, kTriesLower);
    return {std::move(frontier_), options_.effort - evictor_.steps()};
  }

  Frontier evaluate(const Frontier& starts) {
    begin_with(starts);
    return std::move(frontier_);
  }

  Frontier improve_at(int64_t peak, const Frontier& starts) {
    begin_with(starts);
    if (frontier_.front().peak <= peak && peak < frontier_.back().peak) anneal(peak);
    return std::move(frontier_);
  }

  // With all of the effort, and no other aim, to a peak or the smallest.
  Descent descend_from(const Frontier& starts, int64_t peak) {
    begin_with(starts);
    if (timeline_.gaps() > 0)
      lower_smallest_peak(peak, options_.effort - evictor_.steps(), kFew,
                          std::numeric_limits<int>::max());
    return {std::move(frontier_), options_.effort - evictor_.steps()};
  }

 private:
  void begin_with(const Frontier& starts) {
    keep_all();
    for (const Point& start : starts) add(evictor_.evaluate(start.choices));
  }

  Candidate keep_all() {
    Candidate keep = evictor_.evaluate(Choices(timeline_.gaps(), Choice::keep));
    add(keep);
    evictor_.stop_at(options_.effort);
    return keep;
  }

  // Greedily below one target after another, until nothing more can go.
  void evict_in_rungs(Candidate candidate, int64_t highest, int64_t effort) {
    const int64_t rung = std::max<int64_t>(highest / kRungs, 1);
    while (evictor_.steps() < effort &&
           evictor_.reduce(candidate,
                           candidate.outcome.peak - std::min(rung, candidate.outcome.peak), 0,
                           random_))
      add(candidate);
    if (candidate.outcome.possible) add(candidate);
  }

  // The smallest peak of all, or one at most as high as `enough`: from one of the few plans with
  // the least memory, some gaps changed at random, below the smallest so far.
  void lower_smallest_peak(int64_t enough, int64_t effort, size_t few, int tries) {
    effort += evictor_.steps();
    for (int idle = 0; idle < tries && evictor_.steps() < effort; ++idle) {
      if (frontier_.front().peak <= enough) return;
      const size_t low = random_() % std::min<size_t>(frontier_.size(), few);
      Candidate next = evictor_.evaluate(disturbed(frontier_[low].choices));
      if (!evictor_.reduce(next, frontier_.front().peak - 1, kNoise, random_)) continue;
      add(next);
      idle = 0;
    }
  }

  // All that is left of the effort at one target. The temperature falls from kHeat of a step to 0.
  void anneal(int64_t target) {
    double step = 0;
    for (const Op& op : timeline_.problem.ops) step += op.cost;
    // Where the problem is large for the effort, nothing near may be known yet.
    Candidate direct = keep_all();
    if (evictor_.reduce(direct, target, 0, random_)) {
      evictor_.prune(direct, target);
      add(direct);
    }
    Candidate current = evictor_.evaluate(std::prev(first_above(target))->choices);
    evictor_.prune(current, target);
    add(current);
    double best = current.outcome.cost;
    const int64_t begin = evictor_.steps();
    std::uniform_real_distribution<double> chance(0, 1);
    while (evictor_.steps() < options_.effort && best > 0) {
      const double spent = static_cast<double>(evictor_.steps() - begin) /
                           static_cast<double>(options_.effort - begin);
      const double temperature = kHeat * step * (1 - spent);
      Candidate next = evictor_.evaluate(disturbed(current.choices));
      if (!evictor_.reduce(next, target, random_() % 2 ? kNoise : kLittleNoise, random_)) continue;
      if (next.outcome.cost < kWorthPruning * current.outcome.cost)
        evictor_.prune(next, target, kPrunes);
      const double more = next.outcome.cost - current.outcome.cost;
      if (more > 0 && std::exp(-more / std::max(temperature, 1e-300)) < chance(random_)) continue;
      current = std::move(next);
      if (current.outcome.cost >= best * kGain) continue;
      evictor_.prune(current, target);
      best = current.outcome.cost;
      add(current);
    }
  }

  // The first point above a target. One at most as high precedes it.
  Frontier::const_iterator first_above(int64_t target) const {
    return std::ranges::upper_bound(frontier_, target, {}, &Point::peak);
  }

  // One more gap is evicted, or a few evicted ones are kept again: neighbours in time, or any.
  Choices disturbed(Choices choices) {
    std::vector<int> evicted;
    for (int gap = 0; gap < timeline_.gaps(); ++gap)
      if (choices[gap] != Choice::keep) evicted.push_back(gap);
    if (evicted.empty() || random_() % 4 == 0) {
      const auto gap = static_cast<int>(random_() % static_cast<uint64_t>(timeline_.gaps()));
      if (timeline_.can_evict(gap)) choices[gap] = more_thorough(choices[gap]);
      return choices;
    }
    const size_t most = 1 + random_() % std::min<size_t>(12, 1 + evicted.size() / 2);
    if (random_() % 2) {
      const int centre = evicted[random_() % evicted.size()];
      const auto distance = [&](int gap) {
        return std::abs(timeline_.begin_of(gap) - timeline_.begin_of(centre));
      };
      std::ranges::nth_element(evicted, evicted.begin() + static_cast<int64_t>(most) - 1, {},
                               distance);
    } else {
      std::ranges::shuffle(evicted, random_);
    }
    for (size_t k = 0; k < most; ++k) choices[evicted[k]] = Choice::keep;
    return choices;
  }

  // Keeps only what no other point beats in both.
  void add(const Candidate& candidate) {
    const auto [peak, cost] = std::pair(candidate.outcome.peak, candidate.outcome.cost);
    const auto place = std::ranges::lower_bound(frontier_, peak, {}, &Point::peak);
    if (place != frontier_.begin() && std::prev(place)->cost <= cost) return;
    if (place != frontier_.end() && place->peak == peak && place->cost <= cost) return;
    auto last = place;
    while (last != frontier_.end() && last->cost >= cost) ++last;
    frontier_.insert(frontier_.erase(place, last), {peak, cost, candidate.choices});
  }

  const Timeline& timeline_;
  SearchOptions options_;
  Evictor evictor_;
  std::mt19937_64 random_;
  Frontier frontier_;
};

// A storage's gap across `instant`, or -1.
int gap_across(const Timeline& timeline, int storage, int instant) {
  for (int gap = timeline.first_gap[storage]; gap < timeline.first_gap[storage + 1]; ++gap)
    if (timeline.begin_of(gap) < instant && instant <= timeline.next_use[gap]) return gap;
  return -1;
}

// Bytes alive at each moment before `turn` for what is used before `turn` still.
std::vector<int64_t> alive_before(const Timeline& timeline, int turn,
                                  const std::vector<int>& last_use) {
  std::vector<int64_t> alive(turn + 2);
  for (int s = 0; s < timeline.storages(); ++s) {
    if (timeline.maker[s] >= last_use[s]) continue;
    alive[timeline.maker[s] + 1] += timeline.problem.storages[s].bytes;
    alive[last_use[s] + 1] -= timeline.problem.storages[s].bytes;
  }
  for (int i = 1; i <= turn + 1; ++i) alive[i] += alive[i - 1];
  return alive;
}

// Keeps what could not be made again at the end of its gap across the turn, as far as that is known
// without a simulation: what it is made of is written to before.
void keep_what_changes(const Timeline& timeline, const std::vector<int>& across, Choices& choices) {
  std::vector<int> until(timeline.storages(), std::numeric_limits<int>::max());
  for (const Op& op : timeline.problem.ops) {
    int all = op.repeatable_before;
    for (const int read : op.reads)
      if (across[read] < 0 || choices[across[read]] != Choice::keep)
        all = std::min(all, until[read]);
    for (const int s : op.writes) {
      until[s] = all;
      if (across[s] >= 0 && timeline.next_use[across[s]] > all) choices[across[s]] = Choice::keep;
    }
  }
}

// Where to cut into `segments`: about evenly in cost, moved to where least is alive.
std::vector<int> cuts(const Timeline& timeline, int turn, int segments,
                      const std::vector<int64_t>& alive) {
  std::vector<double> cost(turn + 1);
  for (int i = 0; i < turn; ++i) cost[i + 1] = cost[i] + timeline.problem.ops[i].cost;
  const auto moment = [&](double share) {
    return static_cast<int>(std::ranges::lower_bound(cost, share * cost[turn] / segments) -
                            cost.begin());
  };
  std::vector<int> result;
  for (int k = 1; k < segments; ++k) {
    const int first = std::clamp(moment(k - 0.5), 1, turn - 1);
    const int last = std::clamp(moment(k + 0.5), first, turn - 1);
    const auto best = std::min_element(alive.begin() + first, alive.begin() + last + 1);
    result.push_back(static_cast<int>(best - alive.begin()));
  }
  return result;
}

}  // namespace

std::vector<Choices> segment_plans(const Timeline& timeline, int most) {
  Simulator simulator(timeline);
  const Choices keep(timeline.gaps(), Choice::keep);
  const int turn = simulator.run(keep).peak_run;  // nothing runs twice: the number of the op
  if (turn < 2) return {};
  std::vector<int> across(timeline.storages()), last_use(timeline.storages());
  for (int s = 0; s < timeline.storages(); ++s) {
    across[s] = timeline.maker[s] < turn ? gap_across(timeline, s, turn) : -1;
    if (across[s] >= 0 && !timeline.can_evict(across[s])) across[s] = -1;
    last_use[s] = timeline.maker[s];
    for (int gap = timeline.first_gap[s]; gap < timeline.first_gap[s + 1]; ++gap)
      if (timeline.next_use[gap] < turn) last_use[s] = timeline.next_use[gap];
  }
  const std::vector<int64_t> alive = alive_before(timeline, turn, last_use);
  std::vector<Choices> plans;
  most = std::min(most, 2 * static_cast<int>(std::sqrt(timeline.ops())) + 2);
  for (int segments = 1; segments <= most; ++segments) {
    const std::vector<int> at = cuts(timeline, turn, segments, alive);
    Choices choices = keep;
    for (int s = 0; s < timeline.storages(); ++s) {
      if (across[s] < 0) continue;
      const bool crosses = std::ranges::any_of(
          at, [&](int cut) { return timeline.maker[s] < cut && cut <= last_use[s]; });
      if (!crosses) choices[across[s]] = Choice::recompute;
    }
    // What a plan could not make again, because something it is made of has changed, it keeps.
    keep_what_changes(timeline, across, choices);
    Outcome outcome = simulator.run(choices);
    for (int tries = 0; !outcome.possible && tries < kBlocked; ++tries) {
      choices[outcome.blocked_gap] = Choice::keep;
      outcome = simulator.run(choices);
    }
    if (!outcome.possible) continue;
    if (plans.empty() || plans.back() != choices) plans.push_back(std::move(choices));
  }
  return plans;
}

Descent descend(const Timeline& timeline, const SearchOptions& options) {
  return Search(timeline, options).descend();
}

Descent descend_from(const Frontier& starts, const Timeline& timeline,
                     const SearchOptions& options) {
  return Search(timeline, options).descend_from(starts, 0);
}

Frontier evaluate(const Frontier& starts, const Timeline& timeline) {
  return Search(timeline, {}).evaluate(starts);
}

Frontier improve_at(int64_t peak, const Timeline& timeline, const SearchOptions& options,
                    const Frontier& starts) {
  return Search(timeline, options).improve_at(peak, starts);
}

Frontier search_at(int64_t peak, const Timeline& timeline, const SearchOptions& options) {
  Descent lowest = descend(timeline, options);
  SearchOptions part = options;
  part.effort = lowest.effort_left;
  if (lowest.points.front().peak > peak)
    lowest = Search(timeline, part).descend_from(lowest.points, peak);
  part.effort = lowest.effort_left;
  return improve_at(peak, timeline, part, lowest.points);
}

}  // namespace plimsoll::recompute
