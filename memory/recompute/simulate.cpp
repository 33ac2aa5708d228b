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

bool same_uses(const Timeline& a, const Timeline& b) {
  const auto same = [](const Op& x, const Op& y) {
    return x.reads == y.reads && x.writes == y.writes && x.repeatable_before == y.repeatable_before;
  };
  return a.next_use == b.next_use && std::ranges::equal(a.problem.ops, b.problem.ops, same);
}

Simulator::Simulator(const Timeline& timeline) : timeline_(timeline) {
  const Problem& problem = timeline.problem;
  for (int s = 0; s < timeline.storages(); ++s)
    places_.push_back({.bytes = problem.storages[s].bytes,
                       .maker = timeline.maker[s],
                       .over = timeline.first_gap[s + 1]});
  const auto end = [&] { return static_cast<int>(operands_.size()); };
  for (const Op& op : problem.ops) {
    Step step{.cost = op.cost,
              .bytes = op.workspace,
              .reads = end(),
              .takes_over = op.takes_over,
              .repeatable_before = op.repeatable_before};
    operands_.insert(operands_.end(), op.reads.begin(), op.reads.end());
    step.writes = end();
    operands_.insert(operands_.end(), op.writes.begin(), op.writes.end());
    step.end = end();
    for (const int storage : op.writes) step.bytes += places_[storage].bytes;
    steps_.push_back(step);
  }
}

void Simulator::note_alive(int op) {
  const Step& running = steps_[op];
  for (int s = 0; s < timeline_.storages(); ++s) {
    const Place& place = places_[s];
    if (!place.alive || place.gap == place.over) continue;
    if (s == running.takes_over) seen_->push_back(place.gap);  // gone, it would give its memory
    if (place.held == now_) continue;
    if (std::ranges::count(reads(running), s) || std::ranges::count(writes(running), s)) continue;
    seen_->push_back(place.gap);
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
  const int maker = places_[storage].maker;
  const Step& op = steps_[maker];
  if (now_ > op.repeatable_before || depth > kDeepest ||
      outcome_.runs > kMostRepetitions * timeline_.ops())
    outcome_.possible = false;
  if (!outcome_.possible) return;

  const size_t first = brought_.size();
  for (const int read : reads(op)) {
    if (places_[read].alive) continue;
    make_again(read, depth + 1);
    if (!outcome_.possible) return;
    brought_.push_back(read);
  }
  // What is made for this maker alone goes when it has run.
  const auto goes = [&](int read) {
    const Place& place = places_[read];
    return place.held != now_ &&
           (place.gap == place.over || (*choices_)[place.gap] == Choice::recompute_each) &&
           std::find(brought_.begin() + static_cast<int64_t>(first), brought_.end(), read) !=
               brought_.end();
  };
  int64_t bytes = bytes_ + op.bytes;
  if (op.takes_over >= 0 && goes(op.takes_over)) bytes -= places_[op.takes_over].bytes;
  execute(maker, bytes);
  outcome_.cost += op.cost;
  for (const int read : reads(op))
    if (places_[read].alive && goes(read)) free(places_[read]);
  brought_.resize(first);

  Run run{.op = maker, .again = true};
  for (const int written : writes(op)) {
    Place& place = places_[written];
    if (place.alive) continue;
    const bool over = place.gap == place.over;
    if (written == storage || (!over && (*choices_)[place.gap] == Choice::recompute)) {
      revive(place);
      if (!over) made_again_at_[place.gap] = std::min(made_again_at_[place.gap], now_);
      if (schedule_) run.made.push_back(written);
    }
  }
  if (schedule_) schedule_->push_back(std::move(run));
}

void Simulator::original(int i) {
  const Step& op = steps_[i];
  for (const int read : reads(op)) places_[read].held = i;
  for (const int read : reads(op))
    if (!places_[read].alive) {
      make_again(read, 0);
      if (!outcome_.possible) {
        outcome_.blocked_gap = places_[read].gap;
        return;
      }
    }
  // From here on the gaps after this op count.
  for (const int read : reads(op)) {
    Place& place = places_[read];
    if (place.gap != place.over && timeline_.next_use[place.gap] == i) ++place.gap;
  }
  int64_t bytes = bytes_ + op.bytes;
  if (op.takes_over >= 0 && dies(places_[op.takes_over])) bytes -= places_[op.takes_over].bytes;
  execute(i, bytes);
  for (const int read : reads(op))
    if (Place& place = places_[read]; place.alive && dies(place)) free(place);
  for (const int written : writes(op))
    if (Place& place = places_[written]; !dies(place)) revive(place);
  if (schedule_) schedule_->push_back({.op = i, .made = timeline_.problem.ops[i].writes});
}

Outcome Simulator::simulate(const Choices& choices, const Bounds& bounds) {
  choices_ = &choices;
  outcome_ = {};
  bytes_ = 0;
  for (int s = 0; s < timeline_.storages(); ++s) {
    Place& place = places_[s];
    place.gap = timeline_.first_gap[s];
    place.held = -1;
    place.alive = false;
  }
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
