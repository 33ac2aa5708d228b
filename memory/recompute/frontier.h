// Plans by what they take: of those that are known, the ones that none beats in bytes and in time.
#pragma once

#include <memory>
#include <optional>

#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {

using SharedTimeline = std::shared_ptr<const Timeline>;

struct Point {
  int64_t peak = 0;  // of the schedule
  double cost = 0;
  Choices choices{};  // of the timeline
  SharedTimeline timeline{};
};
using Frontier = std::vector<Point>;  // peaks rise, costs fall

// Unless another has as small a peak and costs no more.
void add(Frontier& frontier, Point point);
// The cheapest within so many bytes; nullptr: none is.
const Point* cheapest_within(const Frontier& frontier, int64_t peak);

// What the choices come to; nothing where they are not possible.
std::optional<Point> point_of(const SharedTimeline& timeline, const Choices& choices);
// What runs, less what runs again for nobody.
Schedule schedule(const Point& point);
// Where the search may begin again on what it found: the turns of its schedule.
SharedTimeline timeline_of(const Point& point);

}  // namespace plimsoll::recompute
