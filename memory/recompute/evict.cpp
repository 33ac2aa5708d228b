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

}  // namespace

Evictor::Evictor(const Timeline& timeline)
    : timeline_(timeline),
      simulator_(timeline),
      slower_(1 + timeline.ops() / (timeline.ops() + kCached)) {}

// Of one simulation, with what it takes to begin.
void Evictor::count_run(int64_t ops) {
  steps_ += static_cast<int64_t>(slower_ * static_cast<double>(ops + timeline_.ops() / kBegin));
}

// The gap of `storage` that covers op `at`.
int Evictor::gap_at(int storage, int at) const {
  const auto first = timeline_.next_use.begin() + timeline_.first_gap[storage];
  const auto last = timeline_.next_use.begin() + timeline_.tail(storage);
  return static_cast<int>(std::lower_bound(first, last, at) - timeline_.next_use.begin());
}

double Evictor::cost_of_making(const Choices& choices, int storage, int at, int& patience) {
  const Op& op = timeline_.problem.ops[timeline_.maker[storage]];
  if (!timeline_.problem.storages[storage].evictable || at > op.repeatable_before || --patience < 0)
    return kInfinity;
  double cost = op.cost;
  for (const int read : op.reads) {
    // What is kept is there; what is recomputed and stays would be made again anyway.
    if (choices[gap_at(read, at)] != Choice::recompute_each) continue;
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

std::span<const int> Evictor::missing_inputs(const Choices& choices, int gap) {
  missing_.clear();
  for (const int read : timeline_.problem.ops[timeline_.maker[timeline_.storage_of[gap]]].reads) {
    const int there = gap_at(read, timeline_.next_use[gap]);
    if (timeline_.is_tail(there) && choices[there] == Choice::recompute_each)
      missing_.push_back(read);
  }
  return missing_;
}

bool Evictor::reduce(Candidate& candidate, int64_t target, double noise, std::mt19937_64& random,
                     bool in_tails) {
  struct Offer {
    double price;
    int gap;
    int64_t bytes;
    bool for_inputs;  // which stay in their tails instead
  };
  std::vector<Offer> offers;
  std::uniform_real_distribution<double> factor(-noise, noise);
  while (candidate.outcome.peak > target) {
    if (!candidate.outcome.possible || steps_ > most_steps_) return false;
    offers.clear();
    Choices next = candidate.choices;
    const auto price_of = [&](int gap, int64_t bytes) {
      return cost_of(next, gap) / static_cast<double>(bytes);
    };
    for (const int gap : simulator_.alive_at(candidate.choices, candidate.outcome.peak_run)) {
      if (candidate.choices[gap] == Choice::recompute_each || !timeline_.can_evict(gap)) continue;
      const int64_t bytes = timeline_.problem.storages[timeline_.storage_of[gap]].bytes;
      if (bytes == 0) continue;
      Offer offer{price_of(gap, bytes), gap, bytes, false};
      const std::span<const int> missing = missing_inputs(candidate.choices, gap);
      if (in_tails && !missing.empty()) {
        int64_t saved = bytes;
        for (const int input : missing) {
          const int tail = timeline_.tail(input);
          next[tail] = Choice::keep;
          if (timeline_.begin_of(tail) < candidate.outcome.peak_turn)
            saved -= timeline_.problem.storages[input].bytes;
        }
        if (saved > 0)
          if (const double price = price_of(gap, saved); price < offer.price)
            offer = {price, gap, saved, true};
        for (const int input : missing) next[timeline_.tail(input)] = Choice::recompute_each;
      }
      if (offer.price == kInfinity) continue;
      if (noise > 0) offer.price *= std::exp(factor(random));
      offers.push_back(offer);
    }
    count_run(candidate.outcome.peak_run);
    std::ranges::sort(offers, {}, [](const Offer& o) { return std::pair(o.price, o.gap); });
    int64_t excess = candidate.outcome.peak - target;
    size_t taken = 0;
    for (; taken < offers.size() && excess > 0; ++taken) {
      const Offer& offer = offers[taken];
      if (offer.for_inputs)
        for (const int input : missing_inputs(candidate.choices, offer.gap))
          next[timeline_.tail(input)] = Choice::keep;
      next[offer.gap] = more_thorough(next[offer.gap]);
      excess -= offer.bytes;
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
    if (candidate.choices[gap] != Choice::keep && made_again[gap] < timeline_.ops())
      evicted.emplace_back(-cost_of(candidate.choices, gap), gap);
  std::ranges::sort(evicted);
  // What is read stays before what is there for others alone.
  std::ranges::stable_partition(evicted,
                                [&](const auto& e) { return !timeline_.is_tail(e.second); });
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
    if (made_again[gap] == timeline_.ops()) continue;  // by now nobody needs it
    // Kept, it adds its bytes to every moment until it would have been made again.
    const int64_t bytes = timeline_.problem.storages[timeline_.storage_of[gap]].bytes;
    int64_t most = 0;
    for (int i = timeline_.begin_of(gap) + 1; i < made_again[gap]; ++i)
      most = std::max(most, profile[i] + bytes);
    steps_ += (made_again[gap] - timeline_.begin_of(gap)) / kMoments;
    if (most <= target) {
      if (--tries < 0 || steps_ > most_steps_) return;
      if (fits(gap, Choice::keep)) continue;
    }
    if (candidate.choices[gap] == Choice::recompute_each) {
      if (--tries < 0 || steps_ > most_steps_) return;
      fits(gap, Choice::recompute);
    }
  }
}

}  // namespace plimsoll::recompute
