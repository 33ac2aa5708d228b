#include "memory/recompute/timeline.h"

#include <algorithm>
#include <utility>

namespace plimsoll::recompute {
namespace {

Schedule each_once(const Problem& problem) {
  Schedule plan;
  for (size_t op = 0; op < problem.ops.size(); ++op)
    plan.push_back({.op = static_cast<int>(op), .made = problem.ops[op].writes});
  return plan;
}

}  // namespace

Timeline::Timeline(Problem given)
    : Timeline(std::make_shared<const Problem>(std::move(given)), {}) {}

Timeline::Timeline(const Timeline& other, Schedule schedule)
    : Timeline(other.shared, std::move(schedule)) {}

Timeline::Timeline(std::shared_ptr<const Problem> given, Schedule schedule)
    : shared(std::move(given)), plan(std::move(schedule)) {
  if (plan.empty()) plan = each_once(problem());
  struct Touch {
    int turn;
    bool kept;
  };
  std::vector<std::vector<Touch>> touches(problem().storages.size());
  const auto touch = [&](int storage, int turn, bool is_kept) {
    std::vector<Touch>& all = touches[storage];
    if (all.empty() || all.back().turn != turn) all.push_back({turn, is_kept});
  };
  first_turn.assign(problem().ops.size(), 0);
  maker.assign(problem().storages.size(), -1);
  for (int turn = 0; turn < turns(); ++turn) {
    const Run& run = plan[turn];
    for (const int storage : op(turn).reads) touch(storage, turn, true);
    if (run.again) {
      for (const int storage : run.made) touch(storage, turn, false);
    } else {
      first_turn[run.op] = turn;
      for (const int storage : op(turn).writes) maker[storage] = turn;
    }
  }
  for (const Run& run : plan) {
    const int before = problem().ops[run.op].repeatable_before;
    const bool always = before >= ops();
    repeatable_until.push_back(always ? std::numeric_limits<int>::max() : first_turn[before]);
  }
  for (int s = 0; s < storages(); ++s) {
    first_gap.push_back(gaps());
    for (const Touch& end : touches[s]) {
      next_use.push_back(end.turn);
      storage_of.push_back(s);
      kept.push_back(end.kept);
    }
  }
  first_gap.push_back(gaps());
}

Choices as_planned(const Timeline& timeline) {
  Choices choices(timeline.gaps());
  std::ranges::transform(timeline.kept, choices.begin(),
                         [](bool kept) { return kept ? Choice::keep : Choice::recompute_each; });
  return choices;
}

Choices for_use(const Timeline& timeline, Choices choices) {
  if (!timeline.repeats()) return choices;
  std::vector<int> latest(timeline.first_gap.begin() + 1, timeline.first_gap.end());
  for (int turn = timeline.turns() - 1; turn >= 0; --turn) {
    const Run& run = timeline.plan[turn];
    if (!run.again) continue;
    bool runs = false;
    const auto visit = [&](int storage, bool made) {
      int& after = latest[storage];  // the gap that begins at this turn
      while (timeline.next_use[after - 1] > turn) --after;
      Choice& before = choices[after - 1];
      const bool goes_on =
          after < timeline.first_gap[storage + 1] && choices[after] == Choice::keep;
      if (made) runs = runs || (goes_on && before != Choice::keep);
      if (!goes_on && (made || !runs) && timeline.can_evict(after - 1))
        before = Choice::recompute_each;
    };
    for (const int storage : run.made) visit(storage, true);
    for (const int storage : timeline.op(turn).reads) visit(storage, false);
  }
  return choices;
}

}  // namespace plimsoll::recompute
