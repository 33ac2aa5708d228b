#include "memory/recompute/anneal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace plimsoll::recompute {
namespace {

constexpr int64_t kPoint = 4;          // simulations that it takes to say what a plan needs
constexpr int kPrunes = 6;             // of a random repair
constexpr double kNoise = 1.2;         // of the random repairs
constexpr double kLittleNoise = 0.3;   // of half of them at one size
constexpr double kHeat = 0.002;        // of a step: what is taken though it costs more
constexpr double kWorthPruning = 1.3;  // times the cost that is to be beaten
constexpr double kGain = 1 - 1e-12;    // what counts as less
constexpr size_t kFew = 8;             // plans with the smallest peaks, of which one goes lower
constexpr size_t kNeighbours = 12;     // gaps that are kept again, at most

}  // namespace

Search::Search(SharedTimeline timeline, int64_t effort, Frontier& frontier)
    : timeline_(std::move(timeline)), effort_(effort), evictor_(*timeline_), frontier_(frontier) {
  evictor_.stop_at(effort);
}

Candidate Search::note(Candidate candidate) {
  if (std::optional<Point> point = point_of(timeline_, candidate.choices))
    add(frontier_, std::move(*point));
  evictor_.count_simulations(timeline_->repeats() ? kPoint : 1);
  return candidate;
}

void Search::consider(Choices choices) { note(evictor_.evaluate(std::move(choices))); }

void Search::descend(Choices choices, int64_t rung) {
  Candidate candidate = evictor_.evaluate(std::move(choices));
  while (
      steps() < effort_ &&
      evictor_.reduce(candidate, std::max<int64_t>(0, candidate.outcome.peak - rung), 0, random_))
    candidate = note(std::move(candidate));
  note(std::move(candidate));
}

void Search::lower(Choices choices, int64_t enough, int tries) {
  std::vector<Candidate> lowest{note(evictor_.evaluate(std::move(choices)))};
  for (int idle = 0; idle < tries && steps() < effort_; ++idle) {
    if (frontier_.front().peak <= enough) return;
    Candidate next = evictor_.evaluate(disturbed(lowest[random_() % lowest.size()].choices));
    if (!evictor_.reduce(next, frontier_.front().peak - 1, kNoise, random_)) continue;
    lowest.insert(lowest.begin(), note(std::move(next)));
    if (lowest.size() > kFew) lowest.pop_back();
    idle = 0;
  }
}

void Search::bring_below(int64_t target, Choices choices) {
  Candidate candidate = evictor_.evaluate(std::move(choices));
  if (!evictor_.reduce(candidate, target, 0, random_)) return;
  evictor_.prune(candidate, target);
  note(std::move(candidate));
}

// The temperature falls to 0.
void Search::improve(int64_t target, double enough) {
  Candidate current{};
  for (const Point& point : frontier_)
    if (point.peak <= target && point.timeline == timeline_) current.choices = point.choices;
  if (current.choices.empty()) return;
  current = evictor_.evaluate(std::move(current.choices));
  double heat = 0;
  for (const Op& op : timeline_->problem().ops) heat += kHeat * op.cost;
  double best = current.outcome.cost;
  const int64_t begin = steps();
  std::uniform_real_distribution<double> chance(0, 1);
  while (steps() < effort_ && best > enough) {
    const double spent =
        static_cast<double>(steps() - begin) / static_cast<double>(effort_ - begin);
    const double temperature = heat * (1 - spent);
    Candidate next = evictor_.evaluate(disturbed(current.choices));
    const double noise = random_() % 2 ? kNoise : kLittleNoise;
    if (!evictor_.reduce(next, target, noise, random_)) continue;
    if (next.outcome.cost < kWorthPruning * current.outcome.cost)
      evictor_.prune(next, target, kPrunes);
    const double more = next.outcome.cost - current.outcome.cost;
    if (more > 0 && std::exp(-more / std::max(temperature, 1e-300)) < chance(random_)) continue;
    current = std::move(next);
    if (current.outcome.cost >= best * kGain) continue;
    evictor_.prune(current, target);
    best = current.outcome.cost;
    current = note(std::move(current));
  }
}

// One more gap is evicted, or a few evicted ones are kept again: neighbours in time, or any.
Choices Search::disturbed(Choices choices) {
  std::vector<int> evicted;
  for (int gap = 0; gap < timeline_->gaps(); ++gap)
    if (choices[gap] != Choice::keep) evicted.push_back(gap);
  if (evicted.empty() || random_() % 4 == 0) {
    const auto gap = static_cast<int>(random_() % static_cast<uint64_t>(timeline_->gaps()));
    if (timeline_->can_evict(gap)) choices[gap] = more_thorough(choices[gap]);
    return choices;
  }
  const size_t most = 1 + random_() % std::min(kNeighbours, 1 + evicted.size() / 2);
  if (random_() % 2) {
    const int centre = evicted[random_() % evicted.size()];
    const auto distance = [&](int gap) {
      return std::abs(timeline_->begin_of(gap) - timeline_->begin_of(centre));
    };
    std::ranges::nth_element(evicted, evicted.begin() + static_cast<int64_t>(most) - 1, {},
                             distance);
  } else {
    std::ranges::shuffle(evicted, random_);
  }
  for (size_t k = 0; k < most; ++k) choices[evicted[k]] = Choice::keep;
  return choices;
}

}  // namespace plimsoll::recompute
