#include "memory/layout/packing_problem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace plimsoll {
namespace {

std::vector<int> by_begin(std::span<const Box> boxes) {
  std::vector<int> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return boxes[i].begin; });
  return order;
}

// A section ends where a box ends, and the next one starts with the first box that begins after.
void cut_into_sections(std::span<const Box> boxes, PackingProblem& problem) {
  struct Event {
    int instant;
    bool begins;
    int box;
  };
  std::vector<Event> events;
  for (int i = 0; i < problem.boxes(); ++i) {
    events.push_back({boxes[i].begin, true, i});
    events.push_back({boxes[i].end, false, i});
  }
  std::ranges::sort(events, {},
                    [](const Event& e) { return std::tuple(e.instant, e.begins, e.box); });
  int section = 0;
  bool ended = false;
  for (const Event& event : events) {
    if (event.begins && ended) ++section;
    ended = !event.begins;
    (event.begins ? problem.first : problem.last)[event.box] = section + !event.begins;
  }
  problem.total.assign(section + 1, 0);
  for (int i = 0; i < problem.boxes(); ++i)
    for (int s = problem.first[i]; s < problem.last[i]; ++s) problem.total[s] += problem.size[i];
}

}  // namespace

PackingProblem::PackingProblem(std::span<const Box> boxes, int64_t capacity_bytes) {
  unit = 0;
  for (const Box& box : boxes) unit = std::gcd(unit, box.bytes);
  unit = std::max<int64_t>(unit, 1);
  capacity = capacity_bytes / unit;
  for (const Box& box : boxes) size.push_back(box.bytes / unit);
  first.resize(size.size());
  last.resize(size.size());
  cut_into_sections(boxes, *this);

  overlaps.resize(size.size());
  std::vector<int> alive;
  for (const int i : by_begin(boxes)) {
    std::erase_if(alive, [&](int other) { return boxes[other].end <= boxes[i].begin; });
    for (const int other : alive) {
      overlaps[i].push_back(other);
      overlaps[other].push_back(i);
    }
    alive.push_back(i);
  }
  std::map<std::tuple<int64_t, int, int>, int> seen;
  for (int i = 0; i < this->boxes(); ++i) {
    const auto [same, fresh] = seen.try_emplace({size[i], first[i], last[i]}, i);
    twin.push_back(fresh ? -1 : same->second);
    same->second = i;
  }
}

std::vector<std::vector<int>> independent_groups(std::span<const Box> boxes) {
  std::vector<std::vector<int>> groups;
  int end = 0;  // of all that is in the last group
  for (const int i : by_begin(boxes)) {
    if (groups.empty() || boxes[i].begin >= end) groups.emplace_back();
    end = groups.back().empty() ? boxes[i].end : std::max(end, boxes[i].end);
    groups.back().push_back(i);
  }
  return groups;
}

}  // namespace plimsoll
