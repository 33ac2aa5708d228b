#include "memory/recompute/segments.h"

#include <algorithm>
#include <cmath>

#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {
namespace {

constexpr int kBlocked = 20;  // gaps that are kept one by one, for a plan that is not possible

// A storage's gap across `turn`, or -1.
int gap_across(const Timeline& timeline, int storage, int turn) {
  for (int gap = timeline.first_gap[storage]; gap < timeline.first_gap[storage + 1]; ++gap)
    if (timeline.begin_of(gap) < turn && turn <= timeline.next_use[gap]) return gap;
  return -1;
}

// Bytes alive at each moment before `turn` for what is used before `turn` still.
std::vector<int64_t> alive_before(const Timeline& timeline, int turn,
                                  const std::vector<int>& last_use) {
  std::vector<int64_t> alive(turn + 2);
  for (int s = 0; s < timeline.storages(); ++s) {
    if (timeline.maker[s] >= last_use[s]) continue;
    alive[timeline.maker[s] + 1] += timeline.problem().storages[s].bytes;
    alive[last_use[s] + 1] -= timeline.problem().storages[s].bytes;
  }
  for (int i = 1; i <= turn + 1; ++i) alive[i] += alive[i - 1];
  return alive;
}

// Keeps what could not be made again at the end of its gap across the turn, as far as that is known
// without a simulation: what it is made of is written to before.
void keep_what_changes(const Timeline& timeline, const std::vector<int>& across, Choices& choices) {
  std::vector<int> until(timeline.storages(), std::numeric_limits<int>::max());
  for (const Op& op : timeline.problem().ops) {
    int all = op.repeatable_before;
    for (const int read : op.reads)
      if (across[read] < 0 || choices[across[read]] != Choice::keep)
        all = std::min(all, until[read]);
    for (const int s : op.writes) {
      until[s] = all;
      if (across[s] >= 0 && timeline.next_use[across[s]] > all) choices[across[s]] = Choice::keep;
    }
  }
}

// Where to cut into `segments`: about evenly in cost, moved to where least is alive.
std::vector<int> cuts(const Timeline& timeline, int turn, int segments,
                      const std::vector<int64_t>& alive) {
  std::vector<double> cost(turn + 1);
  for (int i = 0; i < turn; ++i) cost[i + 1] = cost[i] + timeline.problem().ops[i].cost;
  const auto moment = [&](double share) {
    return static_cast<int>(std::ranges::lower_bound(cost, share * cost[turn] / segments) -
                            cost.begin());
  };
  std::vector<int> result;
  for (int k = 1; k < segments; ++k) {
    const int first = std::clamp(moment(k - 0.5), 1, turn - 1);
    const int last = std::clamp(moment(k + 0.5), first, turn - 1);
    const auto best = std::min_element(alive.begin() + first, alive.begin() + last + 1);
    result.push_back(static_cast<int>(best - alive.begin()));
  }
  return result;
}

}  // namespace

std::vector<Choices> segment_plans(const Timeline& timeline, int most) {
  Simulator simulator(timeline);
  const Choices keep = as_planned(timeline);
  const int turn = simulator.run(keep).peak_run;  // nothing runs twice: the number of the op
  if (turn < 2) return {};
  std::vector<int> across(timeline.storages()), last_use(timeline.storages());
  for (int s = 0; s < timeline.storages(); ++s) {
    across[s] = timeline.maker[s] < turn ? gap_across(timeline, s, turn) : -1;
    if (across[s] >= 0 && !timeline.can_evict(across[s])) across[s] = -1;
    last_use[s] = timeline.maker[s];
    for (int gap = timeline.first_gap[s]; gap < timeline.first_gap[s + 1]; ++gap)
      if (timeline.next_use[gap] < turn) last_use[s] = timeline.next_use[gap];
  }
  const std::vector<int64_t> alive = alive_before(timeline, turn, last_use);
  std::vector<Choices> plans;
  most = std::min(most, 2 * static_cast<int>(std::sqrt(timeline.turns())) + 2);
  for (int segments = 1; segments <= most; ++segments) {
    const std::vector<int> at = cuts(timeline, turn, segments, alive);
    Choices choices = keep;
    for (int s = 0; s < timeline.storages(); ++s) {
      if (across[s] < 0) continue;
      const bool crosses = std::ranges::any_of(
          at, [&](int cut) { return timeline.maker[s] < cut && cut <= last_use[s]; });
      if (!crosses) choices[across[s]] = Choice::recompute;
    }
    // What a plan could not make again, because something it is made of has changed, it keeps.
    keep_what_changes(timeline, across, choices);
    Outcome outcome = simulator.run(choices);
    for (int tries = 0; !outcome.possible && tries < kBlocked; ++tries) {
      choices[outcome.blocked_gap] = Choice::keep;
      outcome = simulator.run(choices);
    }
    if (!outcome.possible) continue;
    if (plans.empty() || plans.back() != choices) plans.push_back(std::move(choices));
  }
  return plans;
}

}  // namespace plimsoll::recompute
