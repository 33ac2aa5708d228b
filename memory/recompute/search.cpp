#include "memory/recompute/search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "memory/recompute/certificate.h"

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
constexpr double kNear = 1e-5;         // of a step: so near to the certificate the search ends
constexpr int64_t kCertifying = 20;    // no more certificates where so many-th of it is spent
constexpr int64_t kCertificates = 40;  // each takes so many-th of the effort at most
constexpr double kGain = 1 - 1e-12;    // what counts as less
constexpr int kBlocked = 20;           // gaps that are kept one by one, for a textbook's plan

class Search {
 public:
  Search(const Timeline& timeline, const SearchOptions& options)
      : timeline_(timeline), options_(options), evictor_(timeline), random_(0) {}

  Descent descend() {
    const Candidate keep = all_kept();
    const int64_t highest = keep.outcome.peak;
    if (nothing_to_decide() || highest == 0) return {std::move(frontier_)};
    const int64_t affordable = options_.effort / 8 / timeline_.ops();
    for (Choices& choices :
         segment_plans(timeline_, static_cast<int>(std::min<int64_t>(affordable, timeline_.ops()))))
      add(evictor_.evaluate(std::move(choices)));
    for (const double part : {0.7, 0.5, 0.35, 0.25, 0.15})
      certified(highest, part,
                [&](Choices choices) { add(evictor_.evaluate(std::move(choices))); });
    // Downwards, from keeping all and from the best of these.
    const Frontier starts = frontier_;
    const int64_t begin = evictor_.steps();
    for (size_t k = 0; k < kDescents; ++k) {
      const size_t start = starts.size() - 1 - k * starts.size() / kDescents;
      evict_in_rungs(evictor_.evaluate(starts[start].choices), highest,
                     begin + options_.effort / 3 * static_cast<int64_t>(k + 1) / kDescents);
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
    if (frontier_.front().peak <= peak && peak < frontier_.back().peak) improve(peak);
    return std::move(frontier_);
  }

  // With all of the effort, and no other aim, to a peak or the smallest.
  Descent descend_from(const Frontier& starts, int64_t peak) {
    begin_with(starts);
    if (!nothing_to_decide())
      lower_smallest_peak(peak, options_.effort - evictor_.steps(), kFew,
                          std::numeric_limits<int>::max());
    return {std::move(frontier_), options_.effort - evictor_.steps()};
  }

 private:
  void begin_with(const Frontier& starts) {
    all_kept();
    for (const Point& start : starts) add(evictor_.evaluate(start.choices));
  }

  bool nothing_to_decide() const {
    for (int gap = 0; gap < timeline_.gaps(); ++gap)
      if (!timeline_.is_tail(gap) && timeline_.can_evict(gap)) return false;
    return true;
  }

  Candidate all_kept() {
    Candidate keep = evictor_.evaluate(keep_all(timeline_));
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

  // All that is left of the effort at one target.
  void improve(int64_t target) {
    double step = 0;
    for (const Op& op : timeline_.problem.ops) step += op.cost;
    const double enough = begin_at(target) + kNear * step;
    Candidate current = evictor_.evaluate(std::prev(first_above(target))->choices);
    evictor_.prune(current, target);
    add(current);
    anneal(std::move(current), target, enough, kHeat * step);
  }

  // Plans to begin with: from keeping all, as nothing near the target may be known yet, and from
  // certificates, of it and of less, since each is right at one moment only and what runs again
  // needs room at others. Returns what no plan is below.
  double begin_at(int64_t target) {
    const auto begin_with = [&](Choices choices) {
      Candidate start = evictor_.evaluate(std::move(choices));
      if (!evictor_.reduce(start, target, 0, random_)) return;
      evictor_.prune(start, target);
      add(start);
    };
    const double least = certified(target, 1, begin_with);
    begin_with(keep_all(timeline_));
    for (const double part : {0.9, 0.8, 0.65, 0.5}) certified(target, part, begin_with);
    return least;
  }

  // Hands on the choices of the certificate of a part of so many bytes; returns its bound. Where
  // there is little effort, it is left for the rest of the search.
  double certified(int64_t bytes, double part, const std::function<void(Choices)>& take) {
    if (certifying_ > options_.effort / kCertifying) return 0;
    const int64_t budget =
        part == 1 ? bytes : static_cast<int64_t>(part * static_cast<double>(bytes));
    const Certificate certificate = certify(timeline_, budget, options_.effort / kCertificates);
    evictor_.count(certificate.looked_at);
    certifying_ += certificate.looked_at;
    if (certificate.moment >= 0) take(choices_of(certificate, timeline_));
    return certificate.least_added_cost;
  }

  // Until the effort is spent or a plan costs at most `enough`. The temperature falls from `heat`
  // to 0.
  void anneal(Candidate current, int64_t target, double enough, double heat) {
    double best = current.outcome.cost;
    const int64_t begin = evictor_.steps();
    std::uniform_real_distribution<double> chance(0, 1);
    while (evictor_.steps() < options_.effort && best > enough) {
      const double spent = static_cast<double>(evictor_.steps() - begin) /
                           static_cast<double>(options_.effort - begin);
      const double temperature = heat * (1 - spent);
      // Half of the plans are made without anything in its tail: some nets live by that, in others
      // it is in the way where there is little room.
      const bool in_tails = random_() % 2;
      Candidate next =
          evictor_.evaluate(disturbed(in_tails ? current.choices : without_tails(current.choices)));
      const double noise = random_() % 2 ? kNoise : kLittleNoise;
      if (!evictor_.reduce(next, target, noise, random_, in_tails)) continue;
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

  Choices without_tails(Choices choices) const {
    for (int s = 0; s < timeline_.storages(); ++s)
      choices[timeline_.tail(s)] = Choice::recompute_each;
    return choices;
  }

  // One more gap is evicted, or a few evicted ones are kept again: neighbours in time, or any.
  Choices disturbed(Choices choices) {
    std::vector<int> evicted;
    for (int gap = 0; gap < timeline_.gaps(); ++gap)
      if (choices[gap] != Choice::keep && !timeline_.is_tail(gap)) evicted.push_back(gap);
    if (evicted.empty() || random_() % 4 == 0) {
      auto gap = static_cast<int>(random_() % static_cast<uint64_t>(timeline_.gaps()));
      if (timeline_.is_tail(gap)) gap = std::max(0, gap - 1);
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
  int64_t certifying_ = 0;  // steps
};

// A storage's gap across `instant`, or -1.
int gap_across(const Timeline& timeline, int storage, int instant) {
  for (int gap = timeline.first_gap[storage]; gap < timeline.tail(storage); ++gap)
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
  const Choices keep = keep_all(timeline);
  const int turn = simulator.run(keep).peak_run;  // nothing runs twice: the number of the op
  if (turn < 2) return {};
  std::vector<int> across(timeline.storages()), last_use(timeline.storages());
  for (int s = 0; s < timeline.storages(); ++s) {
    across[s] = timeline.maker[s] < turn ? gap_across(timeline, s, turn) : -1;
    if (across[s] >= 0 && !timeline.can_evict(across[s])) across[s] = -1;
    last_use[s] = timeline.maker[s];
    for (int gap = timeline.first_gap[s]; gap < timeline.tail(s); ++gap)
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
