#include "memory/layout/offsets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace plimsoll {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
constexpr int64_t kWork = 8'000'000;  // pairs of boxes to look at: some 10 ms

enum class Fit { first, best };

// What an order puts first. The first key alone is mostly enough for a forward and backward pass:
// what is saved longest lies lowest. The second is the best where sizes follow no pattern.
constexpr double (*kKeys[])(const Box&) = {
    [](const Box& box) { return static_cast<double>(box.end - box.begin); },
    [](const Box& box) { return static_cast<double>(box.bytes); },
    [](const Box&) { return 0.0; },  // time alone
    [](const Box& box) { return static_cast<double>(box.bytes) * (box.end - box.begin); },
};

// Largest key first; among equals forwards in time by begin, or backwards in time by end.
std::vector<int> order_by(std::span<const Box> boxes, double (*key)(const Box&), bool forward) {
  std::vector<int> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) {
    return std::tuple(-key(boxes[i]), forward ? boxes[i].begin : -boxes[i].end, i);
  });
  return order;
}

struct Placed {
  int64_t bottom, top;
  int begin, end;
};

// An offset for `box` among those placed, which are sorted by their bottom: the lowest gap that is
// large enough, or the tightest one.
int64_t find_offset(const std::vector<Placed>& placed, const Box& box, Fit fit) {
  int64_t roof = 0;  // top of all that is placed so far and alive together with `box`
  int64_t offset = -1, tightest = kFar;
  for (const Placed& other : placed) {
    // Without branches on what is random: more than twice as fast.
    const bool together = (other.end > box.begin) & (box.end > other.begin);
    const int64_t gap = other.bottom - roof;
    if (together & (gap >= box.bytes) & (gap < tightest)) {
      if (fit == Fit::first) return roof;
      offset = roof;
      tightest = gap;
    }
    roof = std::max(roof, together ? other.top : 0);
  }
  return offset >= 0 ? offset : roof;
}

// Places the boxes one by one and keeps the result if it is lower than `best`. Returns the place in
// `order` of the first box that is not below, or -1.
int try_order(std::span<const Box> boxes, const std::vector<int>& order, Fit fit, Packing& best) {
  std::vector<int64_t> offsets(boxes.size());
  std::vector<Placed> placed;
  placed.reserve(boxes.size());
  int64_t height = 0;
  for (int n = 0; n < static_cast<int>(order.size()); ++n) {
    const int i = order[n];
    const Box& box = boxes[i];
    offsets[i] = find_offset(placed, box, fit);
    height = std::max(height, offsets[i] + box.bytes);
    if (height >= best.height) return n;
    const Placed entry{offsets[i], offsets[i] + box.bytes, box.begin, box.end};
    placed.insert(std::ranges::upper_bound(placed, entry.bottom, {}, &Placed::bottom), entry);
  }
  best.offsets = std::move(offsets);
  best.height = height;
  return -1;
}

// Tries an order, once at least, and then again and again with the box that stuck out put first: it
// takes its place while there still is one. Returns how many pairs of boxes were looked at.
int64_t improve(std::span<const Box> boxes, std::vector<int> order, Fit fit, int64_t work,
                Packing& best) {
  const int64_t each = std::max<int64_t>(1, std::ssize(boxes) * std::ssize(boxes) / 2);
  int64_t spent = 0;
  for (; spent == 0 || (spent < work && best.height > best.lower_bound); spent += each) {
    const int misfit = try_order(boxes, order, fit, best);
    if (misfit > 0) std::rotate(order.begin(), order.begin() + misfit, order.begin() + misfit + 1);
  }
  return spent;
}

}  // namespace

LivePeak live_peak(std::span<const Box> boxes) {
  std::map<int, int64_t> change;  // of the live bytes at an instant
  for (const Box& box : boxes) {
    change[box.begin] += box.bytes;
    change[box.end] -= box.bytes;
  }
  LivePeak peak;
  int64_t live = 0;
  for (const auto& [instant, bytes] : change) {
    live += bytes;
    if (live > peak.bytes) peak = {live, instant};
  }
  return peak;
}

Packing place(std::span<const Box> boxes) {
  Packing best{
      .offsets = {}, .height = boxes.empty() ? 0 : kFar, .lower_bound = live_peak(boxes).bytes};
  int64_t work = kWork, orders = std::size(kKeys) * 4;
  for (const Fit fit : {Fit::first, Fit::best})
    for (const bool forward : {false, true})
      for (const auto key : kKeys)
        if (work > 0 && best.height > best.lower_bound)
          work -= improve(boxes, order_by(boxes, key, forward), fit, work / orders--, best);
  return best;
}

}  // namespace plimsoll
