// Runs a plan of recompute without running anything: given what happens in each gap, says exactly
// how many bytes are alive at each moment and what runs again.
//
//   Simulator simulator(timeline);
//   Choices choices = keep_all(timeline);
//   choices[g] = Choice::recompute;
//   const Outcome outcome = simulator.run(choices);     // outcome.peak, outcome.cost
//
// The rules. After an op, each storage it touched is freed unless it is kept through the gap that
// begins. Before an op, each storage it reads that is not there is made again by its maker, whose
// own inputs are made again first if need be, and so on. Of these, those whose gap says `recompute`
// stay until the gap ends, the others go as soon as the maker has run. What is kept in its tail
// goes with the last run that reads it.
#pragma once

#include <limits>
#include <span>

#include "memory/recompute/problem.h"

namespace plimsoll::recompute {

enum class Choice : uint8_t {
  keep,
  recompute,       // free it; when it is made again, it stays until its next use
  recompute_each,  // free it; made again for each op that needs it, and freed again
};
using Choices = std::vector<Choice>;
// Everything is kept to its last use, and nothing in its tail.
Choices keep_all(const Timeline& timeline);

// The next choice that holds less.
inline Choice more_thorough(Choice choice) {
  return choice == Choice::keep ? Choice::recompute : Choice::recompute_each;
}

struct Outcome {
  int64_t peak = 0;      // most bytes alive
  double cost = 0;       // of all that runs again
  int peak_run = 0;      // the run with the most bytes alive, counted from 0, repetitions included
  int peak_turn = 0;     // the op whose turn it is then
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

// One execution of an op: the first or a repetition. From here on later ops use what a repetition
// wrote to the storages in `made`; the others that it writes were there already.
struct Run {
  int op = 0;
  bool again = false;
  std::vector<int> made{};
};
using Schedule = std::vector<Run>;

class Simulator {
 public:
  static constexpr int64_t kMostRepetitions = 20;  // times the number of ops; beyond: not possible

  explicit Simulator(const Timeline& timeline);

  // What exceeds the bounds is not simulated to its end.
  Outcome run(const Choices& choices, const Bounds& bounds = {});
  // The most bytes alive while op i and what is made again for it run. It is of the last
  // simulation, and holds only if that was a run() within its bounds.
  std::vector<int64_t> profile() const;
  // For each gap, the op at whose turn what was evicted in it was first made again; the number of
  // ops: it was not. The same holds.
  const std::vector<int>& made_again_at() const { return made_again_at_; }
  // The gaps through which something is alive while run number `run` does not touch it, or could
  // write its result over it.
  std::vector<int> alive_at(const Choices& choices, int run);
  Schedule schedule(const Choices& choices);

 private:
  // What a run reads of an op and of a storage, together in memory: large problems are bound by it.
  struct Step {
    double cost;
    int64_t bytes;                   // of its outputs and its workspace
    int reads, writes = 0, end = 0;  // in operands_
    int takes_over, repeatable_before;
  };
  struct Place {
    int64_t bytes;
    int gap = 0, tail;                      // the gap that it is in, and its last one
    int held = -1;                          // the op that reads it next and holds it
    uint32_t alive : 1 = 0, stay : 31 = 0;  // in its tail: which of stays_, counted from 1
  };

  Outcome simulate(const Choices& choices, const Bounds& bounds);
  void original(int i);
  void make_again(int storage, int depth);
  void execute(int op, int64_t bytes);
  void note_alive(int op);
  void stay_in_tail(int storage);
  void count_tails();
  std::span<const int> reads(const Step& op) const {
    return {operands_.data() + op.reads, operands_.data() + op.writes};
  }
  std::span<const int> writes(const Step& op) const {
    return {operands_.data() + op.writes, operands_.data() + op.end};
  }
  bool dies(const Place& place) const { return choices_[place.gap] != Choice::keep; }
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
  struct Moment {
    int64_t bytes;  // alive; at first without what is in its tail
    int op, turn;
  };
  std::vector<Moment> moments_;  // of each run, and room for more
  struct Stay {
    int storage, since, last;  // runs: that left it in its tail, and the last that read it there
  };
  std::vector<Stay> stays_;
  std::vector<int> made_again_at_;  // of each gap
  int now_ = 0;                     // the op whose turn it is
  int64_t bytes_ = 0;
  Outcome outcome_;
  int watched_run_ = -1;
  std::vector<int>* seen_ = nullptr;
  Schedule* schedule_ = nullptr;
};

}  // namespace plimsoll::recompute
