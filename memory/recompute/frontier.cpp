#include "memory/recompute/frontier.h"

#include <algorithm>

namespace plimsoll::recompute {

void add(Frontier& frontier, Point point) {
  const auto place = std::ranges::lower_bound(frontier, point.peak, {}, &Point::peak);
  if (place != frontier.begin() && std::prev(place)->cost <= point.cost) return;
  if (place != frontier.end() && place->peak == point.peak && place->cost <= point.cost) return;
  auto last = place;
  while (last != frontier.end() && last->cost >= point.cost) ++last;
  frontier.insert(frontier.erase(place, last), std::move(point));
}

const Point* cheapest_within(const Frontier& frontier, int64_t peak) {
  const auto above = std::ranges::upper_bound(frontier, peak, {}, &Point::peak);
  return above == frontier.begin() ? nullptr : &*std::prev(above);
}

// A stop can keep what nobody needs any more, and make it again: counted is what is needed.
std::optional<Point> point_of(const SharedTimeline& timeline, const Choices& choices) {
  Simulator simulator(*timeline);
  const Outcome outcome = simulator.run(choices);
  if (!outcome.possible) return {};
  Point point{outcome.peak, outcome.cost, choices, timeline};
  if (!timeline->repeats()) return point;
  const SharedTimeline own = timeline_of(point);
  const Outcome needed = Simulator(*own).run(as_planned(*own));
  if (!needed.possible) return {};
  point.peak = needed.peak;
  point.cost = needed.cost;
  return point;
}

Schedule schedule(const Point& point) {
  const std::vector<Op>& ops = point.timeline->problem().ops;
  Schedule all = Simulator(*point.timeline).schedule(point.choices), needed;
  std::vector<char> read(point.timeline->storages());  // later, before it is made again
  for (; !all.empty(); all.pop_back()) {
    Run& run = all.back();
    if (run.again && std::ranges::none_of(run.made, [&](int s) { return read[s]; })) continue;
    for (const int storage : run.made) read[storage] = false;
    for (const int storage : ops[run.op].reads) read[storage] = true;
    needed.push_back(std::move(run));
  }
  std::ranges::reverse(needed);
  return needed;
}

SharedTimeline timeline_of(const Point& point) {
  return std::make_shared<Timeline>(*point.timeline, schedule(point));
}

}  // namespace plimsoll::recompute
