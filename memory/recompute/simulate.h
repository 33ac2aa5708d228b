// Runs a plan of recompute without running anything: given what happens in each gap, says exactly
// how many bytes are alive at each moment and what runs again.
//
//   Simulator simulator(timeline);
//   Choices choices = as_planned(timeline);
//   choices[g] = Choice::recompute;
//   const Outcome outcome = simulator.run(choices);     // outcome.peak, outcome.cost
//
// The rules. After an op, each storage it touched is freed unless it is kept through the gap that
// begins. Before an op, each storage it reads that is not there is made again by its maker, whose
// own inputs are made again first if need be, and so on. Of these, those whose gap says `recompute`
// stay until the gap ends, the others go as soon as the maker has run. Where the timeline is of a
// plan, it stops where that runs something again: what it touches there is made again if it is not
// there and is kept from there on, and freed if it is not.
#pragma once

#include <limits>
#include <span>

#include "memory/recompute/timeline.h"

namespace plimsoll::recompute {

struct Outcome {
  int64_t peak = 0;      // most bytes alive
  double cost = 0;       // of all that runs again
  int peak_run = 0;      // the run with the most bytes alive, counted from 0, repetitions included
  int blocked_gap = -1;  // not possible: what was evicted here cannot be made again
  // False: something that must be made again reads what has changed, there is no end to it, or it
  // exceeds the bounds, and then no gap is blocked.
  bool possible = true;
  int64_t runs = 0;
};

// What a run may come to before it is given up.
struct Bounds {
  int64_t peak = std::numeric_limits<int64_t>::max();
  double cost = std::numeric_limits<double>::infinity();
};

class Simulator {
 public:
  explicit Simulator(const Timeline& timeline);

  // What exceeds the bounds is not simulated to its end.
  Outcome run(const Choices& choices, const Bounds& bounds = {});
  // The most bytes alive at each turn, while its op and what is made again for it run. It is of the
  // last simulation, and holds only if that was a run() within its bounds.
  const std::vector<int64_t>& profile() const { return profile_; }
  // For each gap, the turn at which what was evicted in it was first made again; the number of
  // turns: it was not. The same holds.
  const std::vector<int>& made_again_at() const { return made_again_at_; }
  // The gaps through which something is alive while run number `number` does not touch it, or could
  // write its result over it.
  std::vector<int> alive_at(const Choices& choices, int number);
  Schedule schedule(const Choices& choices);

 private:
  // What a run reads of a turn and of a storage, together in memory, by which large problems are
  // bound.
  struct Step {
    double cost;
    int64_t bytes;                   // of its outputs and its workspace
    int reads, writes = 0, end = 0;  // in operands_
    int takes_over;
    int stop_for;  // no step: what ran first at this turn runs again in the plan; -1: a step
  };
  struct Place {
    int64_t bytes;
    int maker, over;  // the gap after the last: nobody needs it any more
    int gap = 0;      // that it is in
    int held = -1;    // the turn that touches it next and holds it
    bool alive = false;
  };

  void step(const Step& op);
  void stop(const Step& op);
  void make_there(int storage);
  void go_on(Place& place);
  void make_again(int storage, int depth);
  void execute(int turn, int64_t bytes);
  void note_alive(int turn);
  std::span<const int> reads(const Step& op) const {
    return {operands_.data() + op.reads, operands_.data() + op.writes};
  }
  std::span<const int> writes(const Step& op) const {
    return {operands_.data() + op.writes, operands_.data() + op.end};
  }
  bool keeps(const Place& place, int gap) const {
    return gap != place.over && choices_[gap] == Choice::keep;
  }
  void free(Place& place) {
    place.alive = false;
    bytes_ -= place.bytes;
  }
  void revive(Place& place) {
    place.alive = true;
    bytes_ += place.bytes;
  }

  const Timeline& timeline_;
  std::vector<Step> steps_;
  std::vector<int> operands_;
  std::vector<Place> places_;
  const Choice* choices_ = nullptr;
  std::vector<int> brought_;  // a stack: what the makers under way have made again
  std::vector<int64_t> profile_;
  std::vector<int> made_again_at_;  // of each gap
  int now_ = 0;                     // whose turn it is
  int64_t bytes_ = 0;
  Outcome outcome_;
  int watched_run_ = -1;
  std::vector<int>* seen_ = nullptr;
  Schedule* schedule_ = nullptr;
};

}  // namespace plimsoll::recompute
