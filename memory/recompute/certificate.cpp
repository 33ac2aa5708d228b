#include "memory/recompute/search.h"

#include <algorithm>
#include <bit>

#include "memory/recompute/simulate.h"

namespace plimsoll::recompute {
namespace {

// From op `at` on, `bytes` more of what `maker` made could be missing while an op runs (or fewer).
struct Change {
  int at, maker;
  int64_t bytes;
};

std::vector<Change> changes(const Timeline& timeline) {
  std::vector<Change> all;
  for (int s = 0; s < timeline.storages(); ++s) {
    const int maker = timeline.maker[s];
    const Storage& storage = timeline.problem.storages[s];
    if (maker < 0 || !storage.evictable || storage.bytes == 0) continue;
    for (int gap = timeline.first_gap[s]; gap < timeline.first_gap[s + 1]; ++gap) {
      // What an op reads must be there while it runs, unless its output is written over it.
      const int begin = timeline.begin_of(gap);
      const bool taken_over = begin > maker && timeline.problem.ops[begin].takes_over == s;
      const int from = taken_over ? begin : begin + 1;
      const int to =
          std::min(timeline.next_use[gap], timeline.problem.ops[maker].repeatable_before);
      if (from >= to) continue;
      all.push_back({from, maker, storage.bytes});
      all.push_back({to, maker, -storage.bytes});
    }
  }
  std::ranges::sort(all, {}, &Change::at);
  return all;
}

// Offers in the order of their price; each can be there or not. A binary tree of sums.
class Knapsack {
 public:
  struct Sum {
    int64_t bytes = 0;
    double cost = 0;
  };
  explicit Knapsack(size_t offers)
      : leaves_(std::bit_ceil(std::max<size_t>(offers, 1))), sums_(2 * leaves_) {}

  void set(size_t offer, const Sum& sum) {
    size_t node = leaves_ + offer;
    sums_[node] = sum;
    while (node /= 2) {
      const Sum &left = sums_[2 * node], &right = sums_[2 * node + 1];
      sums_[node] = {left.bytes + right.bytes, left.cost + right.cost};
    }
  }
  // The least cost of so many bytes, the last offer by a fraction; infinity: there are not as many.
  double least(int64_t bytes) const {
    if (sums_[1].bytes < bytes) return std::numeric_limits<double>::infinity();
    double cost = 0;
    size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (sums_[node].bytes >= bytes) continue;
      bytes -= sums_[node].bytes;
      cost += sums_[node].cost;
      ++node;
    }
    const Sum& last = sums_[node];
    return cost + last.cost * (static_cast<double>(bytes) / static_cast<double>(last.bytes));
  }

 private:
  size_t leaves_;
  std::vector<Sum> sums_;
};

}  // namespace

double least_added_cost(const Timeline& timeline, int64_t budget) {
  Simulator simulator(timeline);
  simulator.run(Choices(timeline.gaps(), Choice::keep));
  const std::vector<int64_t>& alive = simulator.profile();

  // Each change makes its maker another offer: all of them, by price.
  const std::vector<Change> all = changes(timeline);
  struct Offer {
    double price;
    size_t change;
    Knapsack::Sum sum;
  };
  std::vector<Offer> offers;
  std::vector<int64_t> missing(timeline.ops());
  for (size_t c = 0; c < all.size(); ++c) {
    const int64_t bytes = missing[all[c].maker] += all[c].bytes;
    const double cost = timeline.problem.ops[all[c].maker].cost;
    if (bytes > 0) offers.push_back({cost / static_cast<double>(bytes), c, {bytes, cost}});
  }
  std::ranges::sort(offers, [](const Offer& a, const Offer& b) {
    return std::pair(a.price, a.change) < std::pair(b.price, b.change);
  });
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> offer_after(all.size(), kNone), offer_of(timeline.ops(), kNone);
  for (size_t o = 0; o < offers.size(); ++o) offer_after[offers[o].change] = o;

  Knapsack knapsack(offers.size());
  double bound = 0;
  size_t next = 0;
  for (int i = 0; i < timeline.ops(); ++i) {
    for (; next < all.size() && all[next].at <= i; ++next) {
      size_t& offer = offer_of[all[next].maker];
      if (offer != kNone) knapsack.set(offer, {});
      offer = offer_after[next];
      if (offer != kNone) knapsack.set(offer, offers[offer].sum);
    }
    if (alive[i] > budget) bound = std::max(bound, knapsack.least(alive[i] - budget));
  }
  return bound;
}

}  // namespace plimsoll::recompute
