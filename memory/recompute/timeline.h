// The turns of a plan, and between them the gaps in which it is decided what to keep.
//
//   const Timeline timeline(problem);                       // each op has its turn, once
//   Choices choices = as_planned(timeline);                 // everything is kept
//   choices[g] = Choice::recompute;
//   const Timeline finer(timeline, Simulator(timeline).schedule(choices));
//   as_planned(finer)                                       // the choices that give the same plan
//
// A storage is touched by its maker and then by each op that reads it. Between two of these turns
// lies a gap, through which it is kept or not: gaps are what one decides on. In the timeline of a
// plan what runs again has turns of its own, so that there are gaps which end or begin where
// something is made again: so a value can be kept for what is made again of it, or be made again
// of what has been made again.
#pragma once

#include <memory>

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

// The gaps of storage s have the numbers first_gap[s] to first_gap[s + 1]; gap g ends at turn
// next_use[g]. It says nothing of what is used no more.
struct Timeline {
  explicit Timeline(Problem problem);
  Timeline(const Timeline& other, Schedule plan);  // of the same problem

  const Problem& problem() const { return *shared; }
  int ops() const { return static_cast<int>(problem().ops.size()); }
  int turns() const { return static_cast<int>(plan.size()); }
  bool repeats() const { return turns() > ops(); }  // the plan runs something again
  int storages() const { return static_cast<int>(problem().storages.size()); }
  int gaps() const { return static_cast<int>(next_use.size()); }
  const Op& op(int turn) const { return problem().ops[plan[turn].op]; }
  // The turn after which gap g begins.
  int begin_of(int gap) const {
    const int storage = storage_of[gap];
    return gap == first_gap[storage] ? maker[storage] : next_use[gap - 1];
  }
  bool can_make_again(int storage, int turn) const {
    return problem().storages[storage].evictable && turn <= repeatable_until[maker[storage]];
  }
  bool can_evict(int gap) const { return can_make_again(storage_of[gap], next_use[gap]); }

  std::shared_ptr<const Problem> shared;
  Schedule plan;
  std::vector<int> first_turn;        // of each op
  std::vector<int> repeatable_until;  // of each turn: the last one at which its op may run again
  std::vector<int> maker;             // of each storage: the turn that makes it first
  std::vector<int> first_gap;         // of each storage, and one more
  std::vector<int> next_use, storage_of;  // of each gap
  std::vector<char> kept;                 // of each gap: whether the plan keeps it

 private:
  Timeline(std::shared_ptr<const Problem> problem, Schedule plan);
};

// What the timeline's plan does: keeps what it keeps.
Choices as_planned(const Timeline& timeline);
// The choices less what they keep for a stop where nothing runs any more: where the result is kept
// instead, its operands were held for nobody, and what these were made of as well. Where something
// made again in between would have read them, the plan can cost more.
Choices for_use(const Timeline& timeline, Choices choices);

}  // namespace plimsoll::recompute
