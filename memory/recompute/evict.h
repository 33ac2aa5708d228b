// What the search is made of: how much a gap costs to evict, bringing a choice of gaps under a
// target by evicting greedily, and taking back what was not needed.
#pragma once

#include <random>

#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {

struct Candidate {
  Choices choices;
  Outcome outcome;
};

class Evictor {
 public:
  explicit Evictor(const Timeline& timeline);

  Candidate evaluate(Choices choices, const Bounds& bounds = {});

  // While the peak exceeds `target`: of what is alive at the peak without being touched there,
  // evicts what costs least per byte, alone or together with what is made of the same missing
  // storage. With `noise` > 0 the order is disturbed by factors up to exp(noise). False when
  // nothing more can go or the steps are spent; the candidate is then as low as it came, or not
  // possible.
  bool reduce(Candidate& candidate, int64_t target, double noise, std::mt19937_64& random);

  // Keeps again what need not be evicted to stay at `target`, or evicts it less thoroughly, where
  // that does not cost more, the most expensive first; simulates at most `tries` times.
  void prune(Candidate& candidate, int64_t target, int tries = std::numeric_limits<int>::max());

  // Added cost of evicting this gap, or of evicting it more thoroughly: of running its maker at the
  // end of the gap, and before it those makers that would run for nobody else. Infinity: not
  // possible.
  double cost_of(const Choices& choices, int gap);

  // From this many steps on reduce() and prune() give up.
  void stop_at(int64_t steps) { most_steps_ = steps; }
  int64_t steps() const { return steps_; }  // ops looked at so far: the measure of effort
  void count_simulations(int64_t more) { count_run(more * timeline_.turns()); }  // of others

 private:
  // Gaps to evict together, by which so many bytes are gone from the peak.
  struct Offer {
    double cost;
    int64_t bytes;
    std::vector<int> gaps;
  };
  std::vector<Offer> offers(const Candidate& candidate);
  double cost_of_making(const Choices& choices, int storage, int at, int& patience);
  double cost_of_making(const Choices& choices, int storage, int at);
  bool is_there(const Choices& choices, int storage, int at) const;
  int gap_at(int storage, int at) const;
  int64_t bytes_of(int gap) const {
    return timeline_.problem().storages[timeline_.storage_of[gap]].bytes;
  }

  void count_run(int64_t ops);

  const Timeline& timeline_;
  Simulator simulator_;
  double slower_ = 1;  // than where caches hold the whole problem
  int64_t steps_ = 0, most_steps_ = std::numeric_limits<int64_t>::max();
};

}  // namespace plimsoll::recompute
