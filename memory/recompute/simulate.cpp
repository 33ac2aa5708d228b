#include "memory/recompute/simulate.h"

#include <algorithm>
#include <utility>

namespace plimsoll::recompute {
namespace {

constexpr int kDeepest = 2'000;  // makers waiting for each other; a few hundred bytes of stack each

}  // namespace

Timeline::Timeline(Problem given) : problem(std::move(given)) {
  std::vector<std::vector<int>> uses(problem.storages.size());
  maker.assign(problem.storages.size(), -1);
  for (int i = 0; i < ops(); ++i) {
    for (const int storage : problem.ops[i].reads)
      if (uses[storage].empty() || uses[storage].back() != i) uses[storage].push_back(i);
    for (const int storage : problem.ops[i].writes) maker[storage] = i;
  }
  for (int s = 0; s < storages(); ++s) {
    first_gap.push_back(gaps());
    for (const int use : uses[s]) {
      next_use.push_back(use);
      storage_of.push_back(s);
    }
  }
  first_gap.push_back(gaps());
}

bool Timeline::can_evict(int gap) const {
  const int storage = storage_of[gap];
  return problem.storages[storage].evictable &&
         next_use[gap] <= problem.ops[maker[storage]].repeatable_before;
}

Simulator::Simulator(const Timeline& timeline) : timeline_(timeline) {
  for (const Op& op : timeline.problem.ops) {
    written_.push_back(0);
    for (const int storage : op.writes) written_.back() += timeline.problem.storages[storage].bytes;
  }
}

void Simulator::note_alive(int op) {
  const Op& running = timeline_.problem.ops[op];
  for (int s = 0; s < timeline_.storages(); ++s) {
    if (!alive_[s] || gap_[s] == timeline_.first_gap[s + 1]) continue;
    if (s == running.takes_over) seen_->push_back(gap_[s]);  // gone, it would give its memory
    if (held_[s] == now_) continue;
    if (std::ranges::count(running.reads, s) || std::ranges::count(running.writes, s)) continue;
    seen_->push_back(gap_[s]);
  }
}

// `bytes` are alive while `op` runs.
void Simulator::execute(int op, int64_t bytes) {
  if (bytes > outcome_.peak) {
    outcome_.peak = bytes;
    outcome_.peak_run = static_cast<int>(outcome_.runs);
  }
  profile_[now_] = std::max(profile_[now_], bytes);
  if (outcome_.runs == watched_run_) note_alive(op);
  ++outcome_.runs;
}

void Simulator::make_again(int storage, int depth) {
  const int maker = timeline_.maker[storage];
  const Op& op = timeline_.problem.ops[maker];
  if (now_ > op.repeatable_before || depth > kDeepest ||
      outcome_.runs > kMostRepetitions * timeline_.ops())
    outcome_.possible = false;
  if (!outcome_.possible) return;

  const size_t first = brought_.size();
  for (const int read : op.reads) {
    if (alive_[read]) continue;
    make_again(read, depth + 1);
    if (!outcome_.possible) return;
    brought_.push_back(read);
  }
  // What is made for this maker alone goes when it has run.
  const auto goes = [&](int read) {
    return held_[read] != now_ &&
           (gap_[read] == timeline_.first_gap[read + 1] ||
            (*choices_)[gap_[read]] == Choice::recompute_each) &&
           std::find(brought_.begin() + static_cast<int64_t>(first), brought_.end(), read) !=
               brought_.end();
  };
  int64_t bytes = bytes_ + written_[maker] + op.workspace;
  if (op.takes_over >= 0 && goes(op.takes_over))
    bytes -= timeline_.problem.storages[op.takes_over].bytes;
  execute(maker, bytes);
  outcome_.cost += op.cost;
  for (const int read : op.reads)
    if (alive_[read] && goes(read)) free(read);
  brought_.resize(first);

  Run run{.op = maker, .again = true};
  for (const int written : op.writes) {
    if (alive_[written]) continue;
    const int gap = gap_[written];
    if (written == storage ||
        (gap != timeline_.first_gap[written + 1] && (*choices_)[gap] == Choice::recompute)) {
      revive(written);
      if (gap != timeline_.first_gap[written + 1])
        made_again_at_[gap] = std::min(made_again_at_[gap], now_);
      if (schedule_) run.made.push_back(written);
    }
  }
  if (schedule_) schedule_->push_back(std::move(run));
}

void Simulator::original(int i) {
  const Op& op = timeline_.problem.ops[i];
  for (const int read : op.reads) held_[read] = i;
  for (const int read : op.reads)
    if (!alive_[read]) {
      make_again(read, 0);
      if (!outcome_.possible) {
        outcome_.blocked_gap = gap_[read];
        return;
      }
    }
  // From here on the gaps after this op count.
  for (const int read : op.reads)
    if (gap_[read] != timeline_.first_gap[read + 1] && timeline_.next_use[gap_[read]] == i)
      ++gap_[read];
  int64_t bytes = bytes_ + written_[i] + op.workspace;
  if (op.takes_over >= 0 && dies(gap_[op.takes_over], op.takes_over))
    bytes -= timeline_.problem.storages[op.takes_over].bytes;
  execute(i, bytes);
  for (const int read : op.reads)
    if (alive_[read] && dies(gap_[read], read)) free(read);
  for (const int written : op.writes)
    if (!dies(gap_[written], written)) revive(written);
  if (schedule_) schedule_->push_back({.op = i, .made = op.writes});
}

Outcome Simulator::simulate(const Choices& choices, const Bounds& bounds) {
  choices_ = &choices;
  outcome_ = {};
  bytes_ = 0;
  alive_.assign(timeline_.storages(), false);
  held_.assign(timeline_.storages(), -1);
  gap_.assign(timeline_.first_gap.begin(), timeline_.first_gap.end() - 1);
  profile_.assign(timeline_.ops(), 0);
  made_again_at_ = timeline_.next_use;
  brought_.clear();
  for (now_ = 0; now_ < timeline_.ops() && outcome_.possible; ++now_) {
    original(now_);
    if (outcome_.peak > bounds.peak || outcome_.cost > bounds.cost) outcome_.possible = false;
    if (watched_run_ >= 0 && outcome_.runs > watched_run_) break;  // all has been seen
  }
  if (!outcome_.possible) {
    outcome_.peak = std::numeric_limits<int64_t>::max();
    outcome_.cost = std::numeric_limits<double>::infinity();
  }
  return outcome_;
}

Outcome Simulator::run(const Choices& choices, const Bounds& bounds) {
  return simulate(choices, bounds);
}

std::vector<int> Simulator::alive_at(const Choices& choices, int run) {
  std::vector<int> seen;
  watched_run_ = run;
  seen_ = &seen;
  simulate(choices, {});
  watched_run_ = -1;
  return seen;
}

Schedule Simulator::schedule(const Choices& choices) {
  Schedule schedule;
  schedule_ = &schedule;
  simulate(choices, {});
  schedule_ = nullptr;
  return schedule;
}

}  // namespace plimsoll::recompute
