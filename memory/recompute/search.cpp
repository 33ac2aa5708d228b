#include "memory/recompute/search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/cpu/parallel.h"
#include "memory/recompute/anneal.h"
#include "memory/recompute/certificate.h"
#include "memory/recompute/segments.h"

namespace plimsoll::recompute {
namespace {

constexpr int64_t kDescents = 6;
constexpr int64_t kRungs = 64;         // of a descent, from keeping all to nothing
constexpr int kTriesLower = 2500;      // without a gain, of the search for the smallest peak
constexpr double kNear = 1e-5;         // of a step: so near to the certificate the search ends
constexpr int64_t kCertificates = 40;  // each takes so many-th of the effort at most
constexpr int64_t kBuild = 3;          // simulations: as long takes a timeline with its simulator
constexpr int kRounds = 6;             // of a race
constexpr int64_t kWorthRacing = 50;   // simulations for each in a round, at least
constexpr double kStay = 0.7;          // of those in it, after each round
constexpr double kMore = 1.5;          // times the peak, from which plans are brought down too
constexpr double kFollow = 0.04;       // of the effort: from the certificate's choice
constexpr double kFirst = 0.15;  // of the effort: in the problem's own timeline, for each peak

int64_t part_of(int64_t whole, double part) {
  return static_cast<int64_t>(part * static_cast<double>(whole));
}

// What the parts of a search share: the problem, what was found, and what is left of the effort.
class Work {
 public:
  Work(const Problem& problem, int64_t effort)
      : effort_(effort), left_(effort), whole_(std::make_shared<Timeline>(problem)) {
    for (const Op& op : problem.ops) step_ += op.cost;
  }

  Frontier& found() { return found_; }
  int64_t left() const { return left_; }

  // Keeping all, and plans of other searches.
  void begin_with(const Frontier& starts) {
    std::map<const Timeline*, SharedTimeline> here;  // the same turns in this problem
    const auto evaluate = [&](const SharedTimeline& timeline, const Choices& choices) {
      if (std::optional<Point> point = point_of(timeline, choices)) add(found_, std::move(*point));
      left_ -= 2 * timeline->turns();
    };
    evaluate(whole_, as_planned(*whole_));
    for (const Point& start : starts) {
      SharedTimeline& same = here[start.timeline.get()];
      if (!same)
        same = start.timeline->repeats() ? std::make_shared<Timeline>(*whole_, start.timeline->plan)
                                         : whole_;
      evaluate(same, start.choices);
    }
  }

  bool nothing_to_decide() const {
    for (int gap = 0; gap < whole_->gaps(); ++gap)
      if (whole_->can_evict(gap)) return found_.back().peak == 0;
    return true;
  }

  void descend() {
    const int64_t highest = found_.back().peak;
    const auto affordable = std::min<int64_t>(effort_ / 8 / whole_->turns(), whole_->turns());
    search(whole_, left_, [&](Search& s) {
      for (Choices& choices : segment_plans(*whole_, static_cast<int>(affordable)))
        s.consider(std::move(choices));
    });
    for (const double part : {0.7, 0.5, 0.35, 0.25, 0.15})
      if (const SharedTimeline plan = certified(part_of(highest, part)).timeline)
        search(plan, left_, [&](Search& s) { s.consider(as_planned(*plan)); });
    // Downwards, from keeping all and from the best of these.
    const Frontier starts = found_;
    const auto most = static_cast<int64_t>(starts.size());
    for (int64_t k = 0; k < kDescents; ++k) {
      const Point& start = starts[most - 1 - k * most / kDescents];
      search(start.timeline, effort_ / 3 / kDescents,
             [&](Search& s) { s.descend(start.choices, std::max<int64_t>(highest / kRungs, 1)); });
    }
  }

  // The smallest peak of all, or one at most as high as `enough`.
  void lower(int64_t effort, int64_t enough, int tries) {
    Point lowest = found_.front();
    for (const int64_t part : {2, 4, 4}) {
      search(lowest.timeline, effort / part,
             [&](Search& s) { s.lower(lowest.choices, enough, tries); });
      if (found_.front().peak <= enough) return;
      lowest.timeline = timeline_of(found_.front());
      lowest.choices = as_planned(*lowest.timeline);
    }
  }

  struct Certified {
    double enough;  // hardly any plan costs less
    SharedTimeline timeline;
  };
  // The certificate's bound, and the timeline of a plan that follows its choice.
  Certified certified(int64_t peak) {
    const int64_t effort = effort_ / kCertificates;
    if (std::min(effort, left_) < whole_->turns()) return {0, nullptr};
    const Certificate certificate = certify(*whole_, peak, effort);
    left_ -= certificate.looked_at;
    Certified result{certificate.least_added_cost + kNear * step_, nullptr};
    if (certificate.moment < 0) return result;
    if (Schedule plan = schedule_of(certificate, whole_->problem()); !plan.empty())
      result.timeline = std::make_shared<Timeline>(*whole_, std::move(plan));
    return result;
  }

  // From certificates, as each is right at one moment only and what runs again needs room at
  // others.
  void reach(int64_t peak) {
    for (const double part : {1.0, 0.9, 0.8, 0.65, 0.5}) {
      if (found_.front().peak <= peak) return;
      if (const SharedTimeline plan = certified(part_of(peak, part)).timeline)
        search(plan, left_ / 4, [&](Search& s) { s.bring_below(peak, as_planned(*plan)); });
    }
  }

  void improve(int64_t peak) {
    const auto [enough, plan] = certified(peak);
    std::vector<Point> racers;
    const auto join = [&](const Point* point) {
      const auto same = [&](const Point& other) {
        return other.peak == point->peak && other.cost == point->cost;
      };
      if (point && std::ranges::none_of(racers, same)) racers.push_back(*point);
    };
    if (plan) {
      Racer follower{plan};
      run(follower, peak, enough, part_of(effort_, kFollow));
      end(follower);
      if (is_enough(peak, enough)) return;
      join(cheapest_within(follower.points, peak));
    }
    join(cheapest_within(found_, peak));
    for (const double more : {1.0, kMore}) {
      const int64_t target = part_of(peak, more);
      if (found_.back().peak <= target) continue;
      improve_whole(target, more == 1 ? enough : 0, part_of(effort_, kFirst));
      if (is_enough(peak, enough)) return;
    }
    // Plans for more memory, brought down, run things again within what runs again.
    for (const double more : {1.0, 1.2, kMore, 2.0})
      join(cheapest_within(found_, part_of(peak, more)));
    race(std::move(racers), peak, enough);
  }

 private:
  template <class F>
  void search(const SharedTimeline& timeline, int64_t effort, const F& f) {
    left_ -= search(timeline, effort, found_, f);
  }
  // What it took.
  template <class F>
  int64_t search(const SharedTimeline& timeline, int64_t effort, Frontier& frontier,
                 const F& f) const {
    if (left_ <= 0) return 0;
    Search search(timeline, std::min(effort, left_), frontier);
    f(search);
    return search.steps() + kBuild * timeline->turns();
  }

  bool is_enough(int64_t peak, double enough) const {
    const Point* best = cheapest_within(found_, peak);
    return best && best->cost <= enough;
  }

  struct Racer {
    SharedTimeline timeline;
    Frontier points{};  // found in it, as if no other were known
    int64_t spent = 0;
  };
  void run(Racer& racer, int64_t peak, double enough, int64_t effort) const {
    racer.spent = search(racer.timeline, effort, racer.points, [&](Search& s) {
      s.bring_below(peak, as_planned(*racer.timeline));
      s.improve(peak, enough);
    });
  }
  void end(const Racer& racer) {
    left_ -= racer.spent;
    for (const Point& point : racer.points) add(found_, point);
  }

  void improve_whole(int64_t peak, double enough, int64_t effort) {
    Frontier here;
    for (const Point& point : found_)
      if (point.timeline == whole_) add(here, point);
    left_ -= search(whole_, effort, here, [&](Search& s) {
      s.bring_below(peak, as_planned(*whole_));
      if (const Point* best = cheapest_within(here, peak))
        s.bring_below(peak, Choices(best->choices));
      s.improve(peak, enough);
    });
    for (Point& point : here) add(found_, std::move(point));
  }

  // On all threads: what each finds does not depend on the others of its round, which is ended even
  // where one is enough.
  void race(std::vector<Point> plans, int64_t peak, double enough) {
    const auto affordable =
        static_cast<size_t>(std::max<int64_t>(0, left_) / (kWorthRacing * whole_->turns()));
    plans.resize(std::min(plans.size(), affordable));
    for (int round = 0; round < kRounds && !plans.empty(); ++round) {
      const int64_t effort = left_ / (kRounds - round) / std::ssize(plans);
      std::vector<Racer> racers;
      for (const Point& plan : plans) racers.push_back({timeline_of(plan)});
      parallel_for(std::ssize(racers), 1,
                   [&](int64_t k, int64_t) { run(racers[k], peak, enough, effort); });
      plans.clear();
      for (Racer& racer : racers) {
        end(racer);
        if (!racer.points.empty()) plans.push_back(std::move(racer.points.back()));
      }
      if (is_enough(peak, enough)) return;
      std::ranges::stable_sort(plans, {}, &Point::cost);
      plans.resize(static_cast<size_t>(std::ceil(kStay * static_cast<double>(plans.size()))));
    }
  }

  int64_t effort_, left_;
  SharedTimeline whole_;
  double step_ = 0;  // what all ops cost
  Frontier found_;
};

}  // namespace

Descent descend(const Problem& problem, const SearchOptions& options) {
  Work work(problem, options.effort);
  work.begin_with({});
  if (!work.nothing_to_decide()) {
    work.descend();
    if (options.lowest) work.lower(options.effort / 3, 0, kTriesLower);
  }
  return {std::move(work.found()), work.left()};
}

Descent descend_from(const Frontier& starts, const Problem& problem, const SearchOptions& options) {
  Work work(problem, options.effort);
  work.begin_with(starts);
  if (!work.nothing_to_decide()) work.lower(options.effort, 0, std::numeric_limits<int>::max());
  return {std::move(work.found()), work.left()};
}

Frontier evaluate(const Frontier& starts, const Problem& problem) {
  Work work(problem, 0);
  work.begin_with(starts);
  return std::move(work.found());
}

Frontier improve_at(int64_t peak, const Problem& problem, const SearchOptions& options,
                    const Frontier& starts) {
  Work work(problem, options.effort);
  work.begin_with(starts);
  if (work.found().front().peak <= peak && peak < work.found().back().peak) work.improve(peak);
  return std::move(work.found());
}

Frontier search_at(int64_t peak, const Problem& problem, const SearchOptions& options) {
  Work work(problem, options.effort);
  work.begin_with({});
  if (work.nothing_to_decide() || work.found().back().peak <= peak) return std::move(work.found());
  work.descend();
  work.reach(peak);
  if (work.found().front().peak > peak)
    work.lower(work.left(), peak, std::numeric_limits<int>::max());
  if (work.found().front().peak <= peak) work.improve(peak);
  return std::move(work.found());
}

}  // namespace plimsoll::recompute
