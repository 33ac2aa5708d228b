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

// What is kept is there when an op runs again at turn `at`; what is recomputed and stays would be
// made again anyway.
bool Evictor::is_there(const Choices& choices, int storage, int at) const {
  const int gap = gap_at(storage, at);
  return gap != timeline_.first_gap[storage + 1] && choices[gap] != Choice::recompute_each;
}

double Evictor::cost_of_making(const Choices& choices, int storage, int at, int& patience) {
  if (!timeline_.can_make_again(storage, at) || --patience < 0) return kInfinity;
  const Op& op = timeline_.op(timeline_.maker[storage]);
  double cost = op.cost;
  for (const int read : op.reads)
    if (!is_there(choices, read, at)) cost += cost_of_making(choices, read, at, patience);
  return cost;
}

double Evictor::cost_of_making(const Choices& choices, int storage, int at) {
  int patience = kPatience;
  const double cost = cost_of_making(choices, storage, at, patience);
  steps_ += kPatience - patience;
  return cost;
}

double Evictor::cost_of(const Choices& choices, int gap) {
  return cost_of_making(choices, timeline_.storage_of[gap], timeline_.next_use[gap]);
}

Candidate Evictor::evaluate(Choices choices, const Bounds& bounds) {
  choices = for_use(timeline_, std::move(choices));
  const Outcome outcome = simulator_.run(choices, bounds);
  count_run(outcome.runs);
  return {std::move(choices), outcome};
}

// Alone, and together those that are made of one storage which is not there: then that is made
// again once for all of them.
std::vector<Evictor::Offer> Evictor::offers(const Candidate& candidate) {
  const Choices& choices = candidate.choices;
  struct Need {
    int storage, gap;
    double cost;  // of the gap, less what the storage costs
  };
  std::vector<Need> needs;
  std::vector<Offer> all;
  for (const int gap : simulator_.alive_at(choices, candidate.outcome.peak_run)) {
    if (choices[gap] == Choice::recompute_each || !timeline_.can_evict(gap)) continue;
    const double cost = cost_of(choices, gap);
    if (bytes_of(gap) == 0 || cost == kInfinity) continue;
    all.push_back({cost, bytes_of(gap), {gap}});
    const int at = timeline_.next_use[gap];
    for (const int read : timeline_.op(timeline_.maker[timeline_.storage_of[gap]]).reads)
      if (!is_there(choices, read, at))
        needs.push_back({read, gap, cost - cost_of_making(choices, read, at)});
  }
  count_run(candidate.outcome.peak_run);
  std::ranges::sort(needs, {}, [](const Need& n) { return std::pair(n.storage, n.gap); });
  for (auto need = needs.begin(); need != needs.end();) {
    const int storage = need->storage, at = timeline_.next_use[need->gap];
    Offer together{cost_of_making(choices, storage, at), 0, {}};
    for (; need != needs.end() && need->storage == storage; ++need) {
      together.cost += need->cost;
      together.bytes += bytes_of(need->gap);
      together.gaps.push_back(need->gap);
    }
    if (together.gaps.size() > 1) all.push_back(std::move(together));
  }
  return all;
}

bool Evictor::reduce(Candidate& candidate, int64_t target, double noise, std::mt19937_64& random) {
  std::uniform_real_distribution<double> factor(-noise, noise);
  while (candidate.outcome.peak > target) {
    if (!candidate.outcome.possible || steps_ > most_steps_) return false;
    const std::vector<Offer> at_peak = offers(candidate);
    std::vector<std::pair<double, const Offer*>> by_price;
    for (const Offer& offer : at_peak) {
      const double price = offer.cost / static_cast<double>(offer.bytes);
      by_price.emplace_back(noise > 0 ? price * std::exp(factor(random)) : price, &offer);
    }
    std::ranges::sort(by_price);
    int64_t excess = candidate.outcome.peak - target;
    Choices next = candidate.choices;
    for (auto taken = by_price.begin(); taken != by_price.end() && excess > 0; ++taken) {
      for (const int gap : taken->second->gaps) {
        if (next[gap] != candidate.choices[gap]) continue;
        next[gap] = more_thorough(next[gap]);
        excess -= bytes_of(gap);
      }
    }
    if (by_price.empty()) return false;
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
    const int64_t bytes = bytes_of(gap);
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
