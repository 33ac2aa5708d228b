#include "memory/layout/offsets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace plimsoll {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
constexpr int64_t kOrders = 3;               // tried at least, where nobody says how many pairs,
constexpr int64_t kManyPairs = 600'000'000;  // but in no more pairs than these
constexpr int64_t kFewBoxes = 2'000;         // more are placed in the order of time first

enum class Fit { first, best };

// What an order puts first.
using Key = double (*)(const Box&, int peak);
// What is alive at the moment with the most bytes, where there is no room to lose, then all others;
// longest first: what is saved for the backward pass lies lowest.
double peak_first(const Box& box, int peak) {
  const double lifetime = static_cast<double>(box.end) - box.begin;
  return lifetime + (box.begin <= peak && peak < box.end ? 1e10 : 0);  // more than any lifetime
}
// The first of these alone is mostly enough for a forward and backward pass; sizes are the best
// where they follow no pattern.
constexpr Key kKeys[] = {
    peak_first,
    [](const Box& box, int peak) { return box.begin <= peak && peak < box.end ? 1.0 : 0.0; },
    [](const Box& box, int) { return static_cast<double>(box.end) - box.begin; },
    [](const Box& box, int) { return static_cast<double>(box.bytes); },
    [](const Box&, int) { return 0.0; },  // time alone
    [](const Box& box, int) {
      return static_cast<double>(box.bytes) * (static_cast<double>(box.end) - box.begin);
    },
};

// Largest key first; among equals forwards in time by begin, or backwards in time by end.
std::vector<int> order_by(std::span<const Box> boxes, const std::vector<double>& keys,
                          bool forward) {
  std::vector<int> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) {
    return std::tuple(-keys[i], forward ? boxes[i].begin : -boxes[i].end, i);
  });
  return order;
}

std::vector<double> keys_of(std::span<const Box> boxes, Key key, int peak) {
  std::vector<double> keys;
  for (const Box& box : boxes) keys.push_back(key(box, peak));
  return keys;
}

// The most bytes alive at any moment of each box.
std::vector<double> most_alive(std::span<const Box> boxes) {
  std::vector<int> instants;
  for (const Box& box : boxes) instants.insert(instants.end(), {box.begin, box.end});
  std::ranges::sort(instants);
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  const auto place_of = [&](int instant) {
    return std::ranges::lower_bound(instants, instant) - instants.begin();
  };
  const int64_t n = std::ssize(instants);
  std::vector<double> most(2 * n);  // a binary tree of maxima over n leaves
  for (const Box& box : boxes) {
    most[n + place_of(box.begin)] += static_cast<double>(box.bytes);
    most[n + place_of(box.end)] -= static_cast<double>(box.bytes);
  }
  std::partial_sum(most.begin() + n, most.end(), most.begin() + n);
  for (int64_t node = n - 1; node > 0; --node)
    most[node] = std::max(most[2 * node], most[2 * node + 1]);
  std::vector<double> keys;
  for (const Box& box : boxes) {
    double key = 0;
    for (int64_t from = n + place_of(box.begin), to = n + place_of(box.end); from < to;
         from /= 2, to /= 2) {
      if (from % 2) key = std::max(key, most[from++]);
      if (to % 2) key = std::max(key, most[--to]);
    }
    keys.push_back(key);
  }
  return keys;
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
// takes its place while there still is one and the best is above `enough`. Returns how many pairs
// of boxes were looked at.
int64_t improve(std::span<const Box> boxes, std::vector<int> order, Fit fit, int64_t pairs,
                int64_t enough, Packing& best) {
  int64_t spent = 0;
  while (spent == 0 || (spent < pairs && best.height > enough)) {
    const int misfit = try_order(boxes, order, fit, best);
    const int64_t placed = misfit < 0 ? std::ssize(boxes) : misfit;
    spent += std::max<int64_t>(1, placed * placed / 2);
    if (misfit == 0) break;  // by itself it is as high as the best
    if (misfit > 0) std::rotate(order.begin(), order.begin() + misfit, order.begin() + misfit + 1);
  }
  return spent;
}

// The gaps between what an allocator has given out below its top, by place and by size.
class Gaps {
 public:
  // The lowest of the tightest gaps, or what is above all.
  int64_t take(int64_t bytes) {
    const auto gap = by_size_.lower_bound({bytes, 0});
    if (gap == by_size_.end()) return std::exchange(top_, top_ + bytes);
    const auto [size, bottom] = *gap;
    remove(by_bottom_.find(bottom));
    if (size > bytes) add(bottom + bytes, size - bytes);
    return bottom;
  }
  void give_back(int64_t bottom, int64_t bytes) {
    const auto above = by_bottom_.lower_bound(bottom);
    if (above != by_bottom_.begin())
      if (const auto below = std::prev(above); below->first + below->second == bottom) {
        bottom = below->first;
        bytes += below->second;
        remove(below);
      }
    if (above != by_bottom_.end() && bottom + bytes == above->first) {
      bytes += above->second;
      remove(above);
    }
    if (bottom + bytes == top_)
      top_ = bottom;
    else
      add(bottom, bytes);
  }

 private:
  using ByBottom = std::map<int64_t, int64_t>;
  void add(int64_t bottom, int64_t bytes) {
    by_bottom_[bottom] = bytes;
    by_size_.emplace(bytes, bottom);
  }
  void remove(ByBottom::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    by_bottom_.erase(gap);
  }

  int64_t top_ = 0;
  ByBottom by_bottom_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
};

// What an allocator does, with the best fit, forwards in time or backwards.
void place_in_time(std::span<const Box> boxes, bool forward, Packing& best) {
  const auto begin = [&](int i) { return forward ? boxes[i].begin : -boxes[i].end; };
  const auto end = [&](int i) { return forward ? boxes[i].end : -boxes[i].begin; };
  std::vector<int> coming(boxes.size());
  std::iota(coming.begin(), coming.end(), 0);
  std::vector<int> going = coming;
  std::ranges::sort(coming, {}, [&](int i) { return std::pair(begin(i), i); });
  std::ranges::sort(going, {}, [&](int i) { return std::pair(end(i), i); });
  Gaps gaps;
  std::vector<int64_t> offsets(boxes.size());
  int64_t height = 0;
  size_t gone = 0;
  for (const int i : coming) {
    for (; end(going[gone]) <= begin(i); ++gone)
      gaps.give_back(offsets[going[gone]], boxes[going[gone]].bytes);
    offsets[i] = gaps.take(boxes[i].bytes);
    height = std::max(height, offsets[i] + boxes[i].bytes);
  }
  if (height < best.height) {
    best.offsets = std::move(offsets);
    best.height = height;
  }
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

Packing place(std::span<const Box> boxes, int64_t most_pairs, int64_t enough) {
  const auto [bound, peak] = live_peak(boxes);
  enough = std::max(enough, bound);
  Packing best{.offsets = {}, .height = boxes.empty() ? 0 : kFar, .lower_bound = bound};
  const int64_t n = std::ssize(boxes), each = n * n / 2;
  const auto done = [&] { return best.height <= enough; };
  if (n > kFewBoxes || most_pairs < each)
    for (const bool forward : {true, false})
      if (!done()) place_in_time(boxes, forward, best);
  int64_t pairs = most_pairs, orders = 4 * std::ssize(kKeys);
  // Where most is alive first, backwards in time: the best of one try, and more tries find no more.
  if (n > kFewBoxes && pairs >= each && !done())
    pairs -= improve(boxes, order_by(boxes, most_alive(boxes), false), Fit::best, 1, enough, best);
  for (const Fit fit : {Fit::first, Fit::best})
    for (const bool forward : {false, true})
      for (const Key key : kKeys)
        if (pairs >= each && !done())
          pairs -= improve(boxes, order_by(boxes, keys_of(boxes, key, peak), forward), fit,
                           pairs / orders--, enough, best);
  return best;
}

Packing place(std::span<const Box> boxes) {
  const int64_t n = std::ssize(boxes);
  return place(boxes, std::max(kFewPairs, std::min(kManyPairs, kOrders * n * n / 2)));
}

}  // namespace plimsoll
