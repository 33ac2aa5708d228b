#include "memory/recompute/certificate.h"

#include <algorithm>
#include <numeric>

#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {
namespace {

// For each maker how many of its bytes could be missing while op i runs.
std::vector<int64_t> missing_at(const Timeline& timeline, int i) {
  std::vector<int64_t> bytes(timeline.ops());
  for (int s = 0; s < timeline.storages(); ++s) {
    if (timeline.maker[s] >= i || timeline.maker[s] < 0 ||
        !timeline.problem.storages[s].evictable ||
        i >= timeline.problem.ops[timeline.maker[s]].repeatable_before)
      continue;
    // What op i reads must be there, unless its output is written over it.
    const int latest = timeline.problem.ops[i].takes_over == s ? i : i - 1;
    for (int gap = timeline.first_gap[s]; gap < timeline.first_gap[s + 1]; ++gap)
      if (timeline.begin_of(gap) <= latest && i < timeline.next_use[gap])
        bytes[timeline.maker[s]] += timeline.problem.storages[s].bytes;
  }
  return bytes;
}

}  // namespace

double least_added_cost(const Timeline& timeline, int64_t budget) {
  Simulator simulator(timeline);
  simulator.run(Choices(timeline.gaps(), Choice::keep));
  const std::vector<int64_t>& alive = simulator.profile();
  double bound = 0;
  std::vector<int> makers(timeline.ops());
  for (int i = 0; i < timeline.ops(); ++i) {
    int64_t excess = alive[i] - budget;
    if (excess <= 0) continue;
    const std::vector<int64_t> bytes = missing_at(timeline, i);
    std::iota(makers.begin(), makers.end(), 0);
    std::erase_if(makers, [&](int maker) { return bytes[maker] == 0; });
    const auto price = [&](int maker) {
      return timeline.problem.ops[maker].cost / static_cast<double>(bytes[maker]);
    };
    std::ranges::sort(makers, {}, price);
    double cost = 0;
    for (const int maker : makers) {
      if (excess <= 0) break;
      const int64_t taken = std::min(excess, bytes[maker]);
      cost += price(maker) * static_cast<double>(taken);
      excess -= taken;
    }
    if (excess > 0) return std::numeric_limits<double>::infinity();
    bound = std::max(bound, cost);
    makers.resize(timeline.ops());
  }
  return bound;
}

}  // namespace plimsoll::recompute
