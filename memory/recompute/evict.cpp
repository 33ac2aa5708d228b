#include "memory/recompute/evict.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::recompute {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kPatience = 300;  // makers looked at for one estimate
// Steps, in ops: to begin a simulation takes as long as so many-th of them, and to look at so many
// moments of a profile as long as one.
constexpr int kBegin = 8, kMoments = 32;
// With so many ops each takes 1.5 times as long as with few, which caches hold; twice at most.
constexpr double kCached = 20'000;
// Operands and gaps of an op: where there are more, each takes so much longer.
constexpr double kTouches = 6;

}  // namespace

Evictor::Evictor(const Timeline& timeline)
    : timeline_(timeline),
      simulator_(timeline),
      slower_(1 + timeline.turns() / (timeline.turns() + kCached)) {
  int64_t touches = timeline.gaps();
  for (const Run& run : timeline.plan)
    touches += std::ssize(timeline.problem().ops[run.op].reads) + std::ssize(run.made);
  slower_ *= std::max(1.0, static_cast<double>(touches) / (kTouches * timeline.turns()));
}

// Of one simulation, with what it takes to begin.
void Evictor::count_run(int64_t ops) {
  steps_ += static_cast<int64_t>(slower_ * static_cast<double>(ops + timeline_.turns() / kBegin));
}

// The gap of `storage` that covers turn `at`; the end of its gaps when all its uses are before.
int Evictor::gap_at(int storage, int at) const {
  const auto first = timeline_.next_use.begin() + timeline_.first_gap[storage];
  const auto last = timeline_.next_use.begin() + timeline_.first_gap[storage + 1];
  return static_cast<int>(std::lower_bound(first, last, at) - timeline_.next_use.begin());
}

double Evictor::cost_of_making(const Choices& choices, int storage, int at, int& patience) {
  if (!timeline_.can_make_again(storage, at) || --patience < 0) return kInfinity;
  const Op& op = timeline_.op(timeline_.maker[storage]);
  double cost = op.cost;
  for (const int read : op.reads) {
    const int gap = gap_at(read, at);
    const bool over = gap == timeline_.first_gap[read + 1];
    // What is kept is there; what is recomputed and stays would be made again anyway.
    if (!over && choices[gap] != Choice::recompute_each) continue;
    cost += cost_of_making(choices, read, at, patience);
  }
  return cost;
}

double Evictor::cost_of(const Choices& choices, int gap) {
  int patience = kPatience;
  const double cost =
      cost_of_making(choices, timeline_.storage_of[gap], timeline_.next_use[gap], patience);
  steps_ += kPatience - patience;
  return cost;
}

Candidate Evictor::evaluate(Choices choices, const Bounds& bounds) {
  const Outcome outcome = simulator_.run(choices, bounds);
  count_run(outcome.runs);
  return {std::move(choices), outcome};
}

bool Evictor::reduce(Candidate& candidate, int64_t target, double noise, std::mt19937_64& random) {
  struct Offer {
    double price;
    int gap;
    int64_t bytes;
  };
  std::vector<Offer> offers;
  std::uniform_real_distribution<double> factor(-noise, noise);
  while (candidate.outcome.peak > target) {
    if (!candidate.outcome.possible || steps_ > most_steps_) return false;
    offers.clear();
    for (const int gap : simulator_.alive_at(candidate.choices, candidate.outcome.peak_run)) {
      if (candidate.choices[gap] == Choice::recompute_each || !timeline_.can_evict(gap)) continue;
      const int64_t bytes = timeline_.problem().storages[timeline_.storage_of[gap]].bytes;
      const double cost = cost_of(candidate.choices, gap);
      if (bytes == 0 || cost == kInfinity) continue;
      const double price = cost / static_cast<double>(bytes);
      offers.push_back({noise > 0 ? price * std::exp(factor(random)) : price, gap, bytes});
    }
    count_run(candidate.outcome.peak_run);
    std::ranges::sort(offers, {}, [](const Offer& o) { return std::pair(o.price, o.gap); });
    int64_t excess = candidate.outcome.peak - target;
    Choices next = candidate.choices;
    size_t taken = 0;
    for (; taken < offers.size() && excess > 0; ++taken) {
      Choice& choice = next[offers[taken].gap];
      choice = more_thorough(choice);
      excess -= offers[taken].bytes;
    }
    if (taken == 0) return false;
    candidate = evaluate(std::move(next));
  }
  return candidate.outcome.possible;
}

void Evictor::prune(Candidate& candidate, int64_t target, int tries) {
  count_run(simulator_.run(candidate.choices).runs);
  std::vector<int64_t> profile = simulator_.profile();
  std::vector<int> made_again = simulator_.made_again_at();
  std::vector<std::pair<double, int>> evicted;
  for (int gap = 0; gap < timeline_.gaps(); ++gap)
    if (candidate.choices[gap] != Choice::keep && made_again[gap] < timeline_.turns())
      evicted.emplace_back(-cost_of(candidate.choices, gap), gap);
  std::ranges::sort(evicted);
  const auto fits = [&](int gap, Choice choice) {
    Choices next = candidate.choices;
    next[gap] = choice;
    Candidate other = evaluate(std::move(next), {.peak = target, .cost = candidate.outcome.cost});
    if (!other.outcome.possible) return false;
    candidate = std::move(other);
    profile = simulator_.profile();
    made_again = simulator_.made_again_at();
    return true;
  };
  for (const auto& [cost, gap] : evicted) {
    if (steps_ > most_steps_) return;
    if (made_again[gap] == timeline_.turns()) continue;  // by now nobody needs it
    // Kept, it adds its bytes to every moment until it would have been made again.
    const int64_t bytes = timeline_.problem().storages[timeline_.storage_of[gap]].bytes;
    int turn = timeline_.begin_of(gap) + 1;
    while (turn < made_again[gap] && profile[turn] + bytes <= target) ++turn;
    steps_ += (turn - timeline_.begin_of(gap)) / kMoments;
    if (turn == made_again[gap]) {
      if (--tries < 0) return;
      if (fits(gap, Choice::keep)) continue;
    }
    if (candidate.choices[gap] == Choice::recompute_each) {
      if (--tries < 0) return;
      fits(gap, Choice::recompute);
    }
  }
}

}  // namespace plimsoll::recompute
