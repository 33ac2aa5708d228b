// Runs a plan of recompute without running anything: given what happens in each gap, says exactly
// how many bytes are alive at each moment and what runs again.
//
//   Simulator simulator(timeline);
//   Choices choices(timeline.gaps(), Choice::keep);
//   choices[g] = Choice::recompute;
//   const Outcome outcome = simulator.run(choices);     // outcome.peak, outcome.cost
//
// The rules. After an op, each storage it touched is freed unless it is kept through the gap that
// begins. Before an op, each storage it reads that is not there is made again by its maker, whose
// own inputs are made again first if need be, and so on. Of these, those whose gap says `recompute`
// stay until the gap ends, the others go as soon as the maker has run.
#pragma once

#include <limits>

#include "memory/recompute/problem.h"

namespace plimsoll::recompute {

enum class Choice : uint8_t {
  keep,
  recompute,       // free it; when it is made again, it stays until its next use
  recompute_each,  // free it; made again for each op that needs it, and freed again
};
using Choices = std::vector<Choice>;

// The next choice that holds less.
inline Choice more_thorough(Choice choice) {
  return choice == Choice::keep ? Choice::recompute : Choice::recompute_each;
}

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
  const std::vector<int64_t>& profile() const { return profile_; }
  // For each gap, the op at whose turn what was evicted in it was first made again. The same holds.
  const std::vector<int>& made_again_at() const { return made_again_at_; }
  // The gaps through which something is alive while run number `run` does not touch it, or could
  // write its result over it.
  std::vector<int> alive_at(const Choices& choices, int run);
  Schedule schedule(const Choices& choices);

 private:
  Outcome simulate(const Choices& choices, const Bounds& bounds);
  void original(int i);
  void make_again(int storage, int depth);
  void execute(int op, int64_t bytes);
  void note_alive(int op);
  bool dies(int gap, int storage) const {
    return gap == timeline_.first_gap[storage + 1] || (*choices_)[gap] != Choice::keep;
  }
  void free(int storage) {
    alive_[storage] = false;
    bytes_ -= timeline_.problem.storages[storage].bytes;
  }
  void revive(int storage) {
    alive_[storage] = true;
    bytes_ += timeline_.problem.storages[storage].bytes;
  }

  const Timeline& timeline_;
  std::vector<int64_t> written_;  // of each op: bytes of its outputs
  const Choices* choices_ = nullptr;
  std::vector<char> alive_;
  std::vector<int> gap_;      // of each storage: the gap it is in
  std::vector<int> held_;     // of each storage: the op that reads it next and holds it
  std::vector<int> brought_;  // a stack: what the makers under way have made again
  std::vector<int64_t> profile_;
  std::vector<int> made_again_at_;  // of each gap
  int now_ = 0;                     // the op whose turn it is
  int64_t bytes_ = 0;
  Outcome outcome_;
  int watched_run_ = -1;
  std::vector<int>* seen_ = nullptr;
  Schedule* schedule_ = nullptr;
};

}  // namespace plimsoll::recompute
