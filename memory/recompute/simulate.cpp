#include "memory/recompute/simulate.h"

#include <algorithm>
#include <utility>

namespace plimsoll::recompute {
namespace {

constexpr int64_t kMostRuns = 20;  // times the number of ops; beyond: not possible
constexpr int kDeepest = 2'000;  // makers waiting for each other; a few hundred bytes of stack each

}  // namespace

Simulator::Simulator(const Timeline& timeline) : timeline_(timeline) {
  for (int s = 0; s < timeline.storages(); ++s)
    places_.push_back({.bytes = timeline.problem().storages[s].bytes,
                       .maker = timeline.maker[s],
                       .over = timeline.first_gap[s + 1]});
  const auto add = [&](const std::vector<int>& storages) {
    operands_.insert(operands_.end(), storages.begin(), storages.end());
    return static_cast<int>(operands_.size());
  };
  for (int turn = 0; turn < timeline.turns(); ++turn) {
    const Op& op = timeline.op(turn);
    const Run& run = timeline.plan[turn];
    Step step{.cost = op.cost,
              .bytes = op.workspace,
              .reads = static_cast<int>(operands_.size()),
              .takes_over = op.takes_over,
              .stop_for = run.again ? timeline.first_turn[run.op] : -1};
    step.writes = add(op.reads);
    step.end = add(run.made);
    for (const int storage : op.writes) step.bytes += places_[storage].bytes;
    steps_.push_back(step);
  }
}

// The gaps through which something is alive while the op of `turn` runs, first or again.
void Simulator::note_alive(int turn) {
  const Step& running = steps_[turn];
  for (int s = 0; s < timeline_.storages(); ++s) {
    const Place& place = places_[s];
    if (!place.alive || place.gap == place.over) continue;
    if (s == running.takes_over) seen_->push_back(place.gap);  // gone, it would give its memory
    if (place.held == now_) continue;
    if (std::ranges::count(reads(running), s) || std::ranges::count(writes(running), s)) continue;
    seen_->push_back(place.gap);
  }
}

// `bytes` are alive while the op of `turn` runs.
inline void Simulator::execute(int turn, int64_t bytes) {
  if (bytes > outcome_.peak) {
    outcome_.peak = bytes;
    outcome_.peak_run = static_cast<int>(outcome_.runs);
  }
  profile_[now_] = std::max(profile_[now_], bytes);
  if (outcome_.runs == watched_run_) note_alive(turn);
  ++outcome_.runs;
}

[[gnu::noinline]] void Simulator::make_again(int storage, int depth) {
  const int maker = places_[storage].maker;
  const Step& op = steps_[maker];
  if (!timeline_.can_make_again(storage, now_) || depth > kDeepest ||
      outcome_.runs > kMostRuns * timeline_.ops())
    outcome_.possible = false;
  if (!outcome_.possible) return;

  const size_t first = brought_.size();
  for (const int read : reads(op)) {
    if (places_[read].alive) continue;
    make_again(read, depth + 1);
    if (!outcome_.possible) return;
    brought_.push_back(read);
  }
  // What is made for this maker alone goes when it has run, and so does what stops with it.
  const bool stops = steps_[now_].stop_for == maker;
  const auto goes = [&](int read) {
    const Place& place = places_[read];
    if (place.held == now_) return stops && !keeps(place, place.gap + 1);
    return (place.gap == place.over || choices_[place.gap] == Choice::recompute_each) &&
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

  Run run{.op = timeline_.plan[maker].op, .again = true};
  for (const int written : writes(op)) {
    Place& place = places_[written];
    if (place.alive || !timeline_.problem().storages[written].evictable) continue;
    const bool over = place.gap == place.over;
    const bool stays = place.held == now_ ? steps_[now_].stop_for < 0 || keeps(place, place.gap + 1)
                                          : !over && choices_[place.gap] == Choice::recompute;
    if (written == storage || stays) {
      revive(place);
      if (!over) made_again_at_[place.gap] = std::min(made_again_at_[place.gap], now_);
      if (schedule_) run.made.push_back(written);
    }
  }
  if (schedule_) schedule_->push_back(std::move(run));
}

void Simulator::make_there(int storage) {
  if (places_[storage].alive) return;
  make_again(storage, 0);
  if (!outcome_.possible) outcome_.blocked_gap = places_[storage].gap;
}

// From here on the gap after this turn counts.
void Simulator::go_on(Place& place) {
  if (place.gap != place.over && timeline_.next_use[place.gap] == now_) ++place.gap;
}

void Simulator::step(const Step& op) {
  for (const int read : reads(op)) places_[read].held = now_;
  for (const int read : reads(op)) {
    make_there(read);
    if (!outcome_.possible) return;
  }
  for (const int read : reads(op)) go_on(places_[read]);
  int64_t bytes = bytes_ + op.bytes;
  if (op.takes_over >= 0) {
    const Place& place = places_[op.takes_over];
    if (!keeps(place, place.gap)) bytes -= place.bytes;
  }
  execute(now_, bytes);
  for (const int read : reads(op))
    if (Place& place = places_[read]; place.alive && !keeps(place, place.gap)) free(place);
  for (const int written : writes(op))
    if (Place& place = places_[written]; keeps(place, place.gap)) revive(place);
  if (schedule_) schedule_->push_back(timeline_.plan[now_]);
}

void Simulator::stop(const Step& op) {
  const std::span<const int> touched(operands_.data() + op.reads, operands_.data() + op.end);
  for (const int storage : touched) places_[storage].held = now_;
  for (const int storage : touched) {
    const Place& place = places_[storage];
    if (!keeps(place, place.gap + 1)) continue;
    make_there(storage);
    if (!outcome_.possible) return;
  }
  for (const int storage : touched) {
    Place& place = places_[storage];
    go_on(place);
    if (place.alive && !keeps(place, place.gap)) free(place);
  }
}

Outcome Simulator::run(const Choices& choices, const Bounds& bounds) {
  choices_ = choices.data();
  outcome_ = {};
  bytes_ = 0;
  for (int s = 0; s < timeline_.storages(); ++s) {
    Place& place = places_[s];
    place.gap = timeline_.first_gap[s];
    place.held = -1;
    place.alive = false;
  }
  profile_.assign(timeline_.turns(), 0);
  made_again_at_.assign(timeline_.gaps(), timeline_.turns());
  brought_.clear();
  for (now_ = 0; now_ < timeline_.turns() && outcome_.possible; ++now_) {
    const Step& op = steps_[now_];
    op.stop_for < 0 ? step(op) : stop(op);
    if (outcome_.peak > bounds.peak || outcome_.cost > bounds.cost) outcome_.possible = false;
    if (watched_run_ >= 0 && outcome_.runs > watched_run_) break;  // all has been seen
  }
  if (!outcome_.possible) {
    outcome_.peak = std::numeric_limits<int64_t>::max();
    outcome_.cost = std::numeric_limits<double>::infinity();
  }
  return outcome_;
}

std::vector<int> Simulator::alive_at(const Choices& choices, int number) {
  std::vector<int> seen;
  watched_run_ = number;
  seen_ = &seen;
  run(choices);
  watched_run_ = -1;
  return seen;
}

Schedule Simulator::schedule(const Choices& choices) {
  Schedule schedule;
  schedule_ = &schedule;
  run(choices);
  schedule_ = nullptr;
  return schedule;
}

}  // namespace plimsoll::recompute
