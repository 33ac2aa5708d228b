#include "memory/recompute/certificate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "memory/recompute/min_cut.h"

namespace plimsoll::recompute {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kScale = 0x1p44;      // of all costs together, as capacities, which are whole
constexpr double kMost = 0x1p59;       // of the prices of all storages together
constexpr double kLess = 1 - 1e-9;     // what counts as less
constexpr double kSmallest = 1e-200;   // costs below cannot be told from none
constexpr int64_t kLeast = 1'000'000;  // edges that a cut may look at, whatever the effort
constexpr int kMostCuts = 100;         // at a moment; ten are usual
constexpr size_t kRemembered = 8;      // choices of moments before, tried again at the next

// What runs again after a moment, and what that takes.
struct Again {
  std::vector<char> ops{};  // of each op, whether it does
  double cost = 0;          // of these
  int64_t kept = 0;         // bytes over the moment, for them and for what is not made again
};

// Between the line of one choice and that of another, by price of a byte, lies where both cost the
// same.
double price_between(const Again& cheap, const Again& small) {
  return (small.cost - cheap.cost) / static_cast<double>(cheap.kept - small.kept);
}

class LowerBound {
 public:
  LowerBound(const Timeline& timeline, int64_t budget, int64_t effort)
      : timeline_(timeline), budget_(budget), effort_(effort), places_(timeline.storages()) {
    for (const Op& op : timeline.problem().ops) total_ += op.cost;
    for (const Storage& storage : timeline.problem().storages)
      all_bytes_ += static_cast<double>(storage.bytes);
    Simulator simulator(timeline);
    simulator.run(as_planned(timeline));
    alive_ = simulator.profile();
  }

  Certificate largest() {
    std::vector<int> moments(timeline_.turns());
    std::iota(moments.begin(), moments.end(), 0);
    std::erase_if(moments, [&](int op) { return alive_[op] <= budget_; });
    std::ranges::stable_sort(moments, std::greater(), [&](int op) { return alive_[op]; });
    if (budget_ < 0 && !moments.empty()) no_plan();
    if (budget_ < 0 || all_bytes_ >= kMost) return found_;
    for (const int op : moments) {
      if (found_.looked_at >= effort_) break;
      stand_at(op);
      raise();
      if (found_.least_added_cost == kInfinity) break;
    }
    return found_;
  }

 private:
  // Where a storage is at the moment.
  enum class Place : char {
    elsewhere,  // not made yet, or not read any more: there only if it is kept for what runs again
    there,      // read by the op of the moment, or never to be made again: it takes no choice
    needed,     // kept, or made again
  };

  void stand_at(int op) {
    now_ = op;
    std::ranges::fill(places_, Place::elsewhere);
    for (const int read : timeline_.problem().ops[op].reads) places_[read] = Place::there;
    int64_t chosen = 0;
    for (int gap = 0; gap < timeline_.gaps(); ++gap) {
      const int storage = timeline_.storage_of[gap];
      const int begin = timeline_.begin_of(gap);
      // What an op reads must be there while it runs, unless its output is written over it.
      const bool over =
          begin > timeline_.maker[storage] && timeline_.problem().ops[begin].takes_over == storage;
      if (begin + (over ? 0 : 1) > op || timeline_.next_use[gap] <= op) continue;
      if (!can_be_made(storage)) {
        places_[storage] = Place::there;
        continue;
      }
      places_[storage] = Place::needed;
      chosen += bytes(storage);
    }
    room_ = budget_ - (alive_[op] - chosen);
    found_.looked_at += timeline_.gaps();
  }

  void no_plan() {
    found_.least_added_cost = kInfinity;
    found_.moment = -1;
    found_.again.clear();
  }

  // Raises the bound by what is known of this moment.
  void raise() {
    if (room_ < 0) {
      no_plan();
      return;
    }
    const Again nothing = measured({std::vector<char>(timeline_.turns())});
    if (nothing.kept <= room_) return;
    Again small{.cost = kInfinity};
    for (const Again& other : known_)
      if (const Again here = measured(other); here.kept <= room_ && here.cost < small.cost)
        small = here;
    if (small.cost == kInfinity) {
      small = cut(1, 0).second;
      if (small.ops.empty()) return;
      if (small.kept > room_) {
        no_plan();
        return;
      }
    }
    Again cheap = nothing;
    for (const Again& other : known_) {
      const double price = price_between(cheap, small);
      const Again here = measured(other);
      if (here.kept > room_ && at(here, price) < kLess * at(cheap, price)) cheap = here;
    }
    // By one line the bound is at most this high, by the other as well: most where they meet.
    for (int cuts = 0; cuts == 0 || (cuts < kMostCuts && found_.looked_at < effort_); ++cuts) {
      const double price = price_between(cheap, small);
      if (at(small, price) <= found_.least_added_cost / kLess) break;
      auto [value, next] = cut(price, 1);
      if (value > found_.least_added_cost) {
        found_.least_added_cost = value;
        found_.moment = now_;
      }
      if (next.ops.empty() || at(next, price) >= kLess * at(small, price)) break;
      (next.kept <= room_ ? small : cheap) = std::move(next);
      if (cheap.cost >= small.cost) cheap = nothing;
    }
    if (found_.moment == now_) found_.again = small.ops;
    for (Again* choice : {&cheap, &small}) known_.push_back(std::move(*choice));
    if (known_.size() > kRemembered) known_.erase(known_.begin(), known_.begin() + 2);
  }

  // What a choice costs when each byte above the room has this price.
  double at(const Again& choice, double price) const {
    return choice.cost + price * static_cast<double>(choice.kept - room_);
  }

  bool can_run_again(int op) const {
    return op >= 0 && op < now_ && now_ < timeline_.problem().ops[op].repeatable_before;
  }
  int64_t bytes(int storage) const { return timeline_.problem().storages[storage].bytes; }
  // Whether it can be chosen to be there.
  bool open(int storage) const {
    return places_[storage] != Place::there && timeline_.maker[storage] >= 0;
  }

  bool can_be_made(int storage) const {
    return timeline_.problem().storages[storage].evictable &&
           can_run_again(timeline_.maker[storage]);
  }

  // What the same ops take at this moment, less those that cannot run again here.
  Again measured(const Again& choice) {
    Again here{std::vector<char>(timeline_.turns())};
    std::vector<char> kept(timeline_.storages());
    const auto use = [&](int s) {
      kept[s] = open(s) && !(can_be_made(s) && here.ops[timeline_.maker[s]]);
    };
    for (int op = 0; op < now_; ++op) {
      if (!choice.ops[op] || !can_run_again(op)) continue;
      here.ops[op] = true;
      here.cost += timeline_.problem().ops[op].cost;
      for (const int read : timeline_.problem().ops[op].reads) use(read);
    }
    for (int s = 0; s < timeline_.storages(); ++s) {
      if (places_[s] == Place::needed) use(s);
      if (kept[s]) here.kept += bytes(s);
    }
    found_.looked_at += timeline_.turns() + timeline_.storages();
    return here;
  }

  // The choice that costs least when each kept byte has this price and each op so many times its
  // cost, and a bound of what any choice costs with at most the room's bytes. Capacities are whole,
  // those of ops rounded down, so that the bound is one to the last digit.
  std::pair<double, Again> cut(double price, double costs) {
    const Problem& problem = timeline_.problem();
    const double finest = costs > 0 && total_ > kSmallest ? kScale / total_ : 1;
    const double scale =
        std::exp2(std::floor(std::log2(std::min(finest, kMost / (price * all_bytes_)))));
    const auto each_byte = static_cast<int64_t>(price * scale);
    const int ops = timeline_.turns(), source = ops + timeline_.storages(), sink = source + 1;
    MinCut graph(sink + 1);
    std::vector<char> read(timeline_.storages());
    for (int op = 0; op < now_; ++op) {
      if (!can_run_again(op)) {
        graph.add(source, op, MinCut::kNever);
        continue;
      }
      graph.add(source, op, static_cast<int64_t>(costs * problem.ops[op].cost * scale));
      for (const int s : problem.ops[op].reads) {
        if (!open(s)) continue;
        read[s] = true;
        graph.add(ops + s, op, MinCut::kNever);
      }
    }
    for (int s = 0; s < timeline_.storages(); ++s) {
      if (!read[s] && places_[s] != Place::needed) continue;
      graph.add(can_be_made(s) ? timeline_.maker[s] : source, ops + s, each_byte * bytes(s));
      if (places_[s] == Place::needed) graph.add(ops + s, sink, MinCut::kNever);
    }
    const int64_t flow = graph.solve(source, sink, std::max(kLeast, effort_ - found_.looked_at));
    found_.looked_at += graph.looked_at();
    const double value = static_cast<double>(flow - each_byte * room_) / scale;
    if (!graph.solved()) return {value, {}};  // a bound, though no choice
    Again choice{std::vector<char>(ops)};
    for (int op = 0; op < now_; ++op) choice.ops[op] = graph.beyond(op);
    return {value, measured(choice)};
  }

  const Timeline& timeline_;
  const int64_t budget_, effort_;
  double total_ = 0, all_bytes_ = 0;
  std::vector<int64_t> alive_;  // of each op, with everything kept
  std::vector<Place> places_;   // of each storage
  int now_ = 0;                 // the op of the moment
  int64_t room_ = 0;            // bytes for what can be chosen
  Certificate found_;
  std::vector<Again> known_;
};

}  // namespace

Certificate certify(const Timeline& timeline, int64_t budget, int64_t effort) {
  return LowerBound(timeline, budget, effort).largest();
}

// In turn each op, and before it what it misses, which from then on is there.
Schedule schedule_of(const Certificate& certificate, const Problem& problem) {
  std::vector<int> maker(problem.storages.size(), -1);
  for (size_t op = 0; op < problem.ops.size(); ++op)
    for (const int storage : problem.ops[op].writes) maker[storage] = static_cast<int>(op);
  std::vector<char> there(problem.storages.size());
  Schedule schedule;
  for (int now = 0; now < std::ssize(problem.ops); ++now) {
    if (now == certificate.moment)
      for (size_t s = 0; s < there.size(); ++s)
        if (there[s] && problem.storages[s].evictable && certificate.again[maker[s]])
          there[s] = false;
    std::vector<int> missing = problem.ops[now].reads;  // a stack
    while (!missing.empty()) {
      const int storage = missing.back();
      if (there[storage]) {
        missing.pop_back();
        continue;
      }
      const int op = maker[storage];
      if (now > problem.ops[op].repeatable_before) return {};
      const size_t before = missing.size();
      for (const int read : problem.ops[op].reads)
        if (!there[read]) missing.push_back(read);
      if (missing.size() > before) continue;
      Run run{.op = op, .again = true};
      for (const int written : problem.ops[op].writes) {
        if (there[written]) continue;
        run.made.push_back(written);
        there[written] = true;
      }
      schedule.push_back(std::move(run));
    }
    for (const int written : problem.ops[now].writes) there[written] = true;
    schedule.push_back({.op = now, .made = problem.ops[now].writes});
  }
  return schedule;
}

}  // namespace plimsoll::recompute
