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
  std::vector<int> last_use = maker;
  for (int s = 0; s < storages(); ++s)
    if (!uses[s].empty()) last_use[s] = uses[s].back();
  std::vector<int> end = last_use;
  for (const Op& op : problem.ops)
    for (const int read : op.reads)
      for (const int written : op.writes) end[read] = std::max(end[read], last_use[written]);
  for (int s = 0; s < storages(); ++s) {
    first_gap.push_back(gaps());
    uses[s].push_back(end[s]);
    for (const int use : uses[s]) {
      next_use.push_back(use);
      storage_of.push_back(s);
    }
  }
  first_gap.push_back(gaps());
}

bool Timeline::can_evict(int gap) const {
  if (is_tail(gap)) return true;
  const int storage = storage_of[gap];
  return problem.storages[storage].evictable &&
         next_use[gap] <= problem.ops[maker[storage]].repeatable_before;
}

Choices keep_all(const Timeline& timeline) {
  Choices choices(timeline.gaps(), Choice::keep);
  for (int s = 0; s < timeline.storages(); ++s) choices[timeline.tail(s)] = Choice::recompute_each;
  return choices;
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
    places_.push_back({.bytes = problem.storages[s].bytes, .tail = timeline.tail(s)});
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
    for (const int storage : op.writes) step.bytes += problem.storages[storage].bytes;
    steps_.push_back(step);
  }
}

void Simulator::note_alive(int op) {
  const Step& running = steps_[op];
  for (int s = 0; s < timeline_.storages(); ++s) {
    const Place& place = places_[s];
    if (!place.alive || place.gap == place.tail) continue;
    if (s == running.takes_over) seen_->push_back(place.gap);  // gone, it would give its memory
    if (place.held == now_) continue;
    if (std::ranges::count(reads(running), s) || std::ranges::count(writes(running), s)) continue;
    seen_->push_back(place.gap);
  }
}

// `bytes` are alive while `op` runs.
inline void Simulator::execute(int op, int64_t bytes) {
  if (bytes > outcome_.peak) {
    outcome_.peak = bytes;
    outcome_.peak_run = static_cast<int>(outcome_.runs);
    outcome_.peak_turn = now_;
  }
  if (outcome_.runs == std::ssize(moments_)) moments_.resize(2 * moments_.size());
  moments_[outcome_.runs] = {bytes, op, now_};
  if (outcome_.runs == watched_run_) note_alive(op);
  ++outcome_.runs;
}

[[gnu::noinline]] void Simulator::make_again(int storage, int depth) {
  const int maker = timeline_.maker[storage];
  const Step& op = steps_[maker];
  if (!timeline_.problem.storages[storage].evictable || now_ > op.repeatable_before ||
      depth > kDeepest || outcome_.runs > kMostRepetitions * timeline_.ops())
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
    return place.held != now_ && choices_[place.gap] == Choice::recompute_each &&
           std::find(brought_.begin() + static_cast<int64_t>(first), brought_.end(), read) !=
               brought_.end();
  };
  int64_t bytes = bytes_ + op.bytes;
  if (op.takes_over >= 0 && goes(op.takes_over)) bytes -= places_[op.takes_over].bytes;
  execute(maker, bytes);
  outcome_.cost += op.cost;
  for (const int read : reads(op)) {
    Place& place = places_[read];
    if (place.stay) stays_[place.stay - 1].last = static_cast<int>(outcome_.runs) - 1;
    if (place.alive && goes(read)) free(place);
  }
  brought_.resize(first);

  Run run{.op = maker, .again = true};
  for (const int written : writes(op)) {
    Place& place = places_[written];
    if (place.alive || !timeline_.problem.storages[written].evictable) continue;
    const Choice choice = choices_[place.gap];
    if (written == storage || choice == Choice::recompute) {
      revive(place);
      made_again_at_[place.gap] = std::min(made_again_at_[place.gap], now_);
      if (place.gap == place.tail && choice != Choice::recompute_each) stay_in_tail(written);
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
    if (place.gap != place.tail && timeline_.next_use[place.gap] == i) ++place.gap;
  }
  int64_t bytes = bytes_ + op.bytes;
  if (op.takes_over >= 0) {
    const Place& place = places_[op.takes_over];
    if (dies(place) || place.gap == place.tail) bytes -= place.bytes;
  }
  execute(i, bytes);
  for (const int read : reads(op)) {
    Place& place = places_[read];
    if (place.alive && dies(place)) free(place);
    if (place.alive && place.gap == place.tail && !place.stay) stay_in_tail(read);
  }
  for (const int written : writes(op)) {
    Place& place = places_[written];
    if (dies(place)) continue;
    revive(place);
    if (place.gap == place.tail) stay_in_tail(written);
  }
  if (schedule_) schedule_->push_back({.op = i, .made = timeline_.problem.ops[i].writes});
}

// From here on its bytes are counted by count_tails(), when it is known who reads it last.
void Simulator::stay_in_tail(int storage) {
  const auto run = static_cast<int>(outcome_.runs) - 1;
  stays_.push_back({.storage = storage, .since = run, .last = -1});
  Place& place = places_[storage];
  place.stay = static_cast<uint32_t>(stays_.size());
  bytes_ -= place.bytes;
}

// What stayed in its tail was alive until the last run that read it.
void Simulator::count_tails() {
  std::vector<int64_t> change(outcome_.runs + 1);
  for (const Stay& stay : stays_) {
    if (stay.last < 0) continue;
    const int64_t bytes = places_[stay.storage].bytes;
    const auto takes_it = [&](int run) {
      return steps_[moments_[run].op].takes_over == stay.storage;
    };
    change[stay.since + (takes_it(stay.since) ? 0 : 1)] += bytes;
    change[stay.last + (takes_it(stay.last) ? 0 : 1)] -= bytes;
  }
  int64_t more = 0;
  for (int run = 0; run < outcome_.runs; ++run) {
    const int64_t bytes = moments_[run].bytes += more += change[run];
    if (bytes <= outcome_.peak) continue;
    outcome_.peak = bytes;
    outcome_.peak_run = run;
    outcome_.peak_turn = moments_[run].turn;
  }
}

std::vector<int64_t> Simulator::profile() const {
  std::vector<int64_t> most(timeline_.ops());
  for (int64_t run = 0; run < outcome_.runs; ++run)
    most[moments_[run].turn] = std::max(most[moments_[run].turn], moments_[run].bytes);
  return most;
}

Outcome Simulator::simulate(const Choices& choices, const Bounds& bounds) {
  choices_ = choices.data();
  outcome_ = {};
  bytes_ = 0;
  for (int s = 0; s < timeline_.storages(); ++s) {
    Place& place = places_[s];
    place.gap = timeline_.first_gap[s];
    place.held = -1;
    place.alive = place.stay = 0;
  }
  moments_.resize(std::max<size_t>(moments_.size(), 2 * timeline_.ops()));
  made_again_at_.assign(timeline_.gaps(), timeline_.ops());
  brought_.clear();
  stays_.clear();
  for (now_ = 0; now_ < timeline_.ops() && outcome_.possible; ++now_) {
    original(now_);
    if (outcome_.peak > bounds.peak || outcome_.cost > bounds.cost) outcome_.possible = false;
    if (watched_run_ >= 0 && outcome_.runs > watched_run_ && stays_.empty()) break;
  }
  if (outcome_.possible && !stays_.empty()) {
    count_tails();
    outcome_.possible = outcome_.peak <= bounds.peak;
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
  for (const Stay& stay : stays_) {
    if (run < stay.since || run >= stay.last) continue;
    const Step& running = steps_[moments_[run].op];
    // What the run reads is no choice there, but what it could write its result over is.
    const bool over = run == stay.since && running.takes_over == stay.storage;
    const bool waits = run > stay.since && !std::ranges::count(reads(running), stay.storage);
    if (over || waits) seen.push_back(places_[stay.storage].tail);
  }
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
