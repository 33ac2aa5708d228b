// OffsetSearch: what follows from a decision.
#include <algorithm>
#include <limits>

#include "memory/layout/offset_search.h"

namespace plimsoll {
namespace {

constexpr int kRounds = 3;  // more find little
constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

}  // namespace

// False: this branch fails, and `conflict_` says why.
bool OffsetSearch::propagate(Window window) {
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (int p = placed_; p < problem_.boxes(); ++p) {
      const int box = order_[p];
      if (problem_.last[box] <= window.first || window.last <= problem_.first[box]) continue;
      // Of twins the first lies lower: exchanging them changes nothing.
      const int twin = problem_.twin[box];
      if (twin >= 0 && level_[twin] < 0 && lowest_[box] < lowest_[twin] + problem_.size[twin]) {
        save(box, true);
        raise(box, lowest_[twin] + problem_.size[twin], window);
        std::copy_n(why(twin), words_, why(box));
        changed = true;
      }
      if (higher_[box] >= 0 && !rests_on_something(box, window, changed)) return false;
      if (lowest_[box] > problem_.capacity - problem_.size[box]) {
        std::copy_n(why(box), words_, conflict_.begin());
        return false;
      }
    }
  }
  sort_by_lowest();
  return sections_fit(window);
}

// A box that lies higher than what is placed below it: it rests on a box that is not placed yet,
// and one that is not placed yet keeps it from sinking.
bool OffsetSearch::rests_on_something(int box, Window& window, bool& changed) {
  int64_t top = kNothing, bottom = kNothing;  // the lowest of those not placed yet
  for (const int other : problem_.overlaps[box]) {
    if (level_[other] >= 0) continue;
    top = std::min(top, std::max(lowest_[other] + problem_.size[other], resting_[box] + 1));
    bottom = std::min(bottom, lowest_[other]);
  }
  const bool sinks = top == kNothing || bottom >= resting_[box] + problem_.size[box];
  if (!sinks && top <= lowest_[box]) return true;

  Word* reason = why(box);
  if (sinks) {
    std::ranges::fill(conflict_, 0);
    reason = conflict_.data();
  } else {
    save(box, true);
    raise(box, top, window);
    std::fill_n(reason, words_, Word{0});
    changed = true;
  }
  add(reason, higher_[box]);
  for (const int other : problem_.overlaps[box]) {
    if (!sinks && problem_.size[other] >= top) continue;  // wherever it lies, its top is no lower
    level_[other] < 0 ? join(reason, why(other)) : add(reason, level_[other]);
  }
  return !sinks;
}

// By insertion: nearly everything is in its place.
void OffsetSearch::sort_by_lowest() {
  for (int p = placed_ + 1; p < problem_.boxes(); ++p) {
    const int box = order_[p];
    int q = p;
    for (; q > placed_ && lowest_[order_[q - 1]] > lowest_[box]; --q) order_[q] = order_[q - 1];
    order_[q] = box;
  }
}

// In a section, the boxes that lie at x or higher must fit between x and the capacity, for every x.
bool OffsetSearch::sections_fit(const Window& window) {
  std::fill(stacked_.begin() + window.first, stacked_.begin() + window.last, 0);
  for (int p = problem_.boxes() - 1; p >= placed_; --p) {
    const int box = order_[p];
    const int first = std::max(problem_.first[box], window.first);
    const int last = std::min(problem_.last[box], window.last);
    if (first >= last) continue;
    if (lowest_[box] <= window.above) break;  // from here down all is as it was
    const int64_t size = problem_.size[box];
    int64_t most = 0;
#pragma omp simd reduction(max : most)
    for (int s = first; s < last; ++s) {
      stacked_[s] += size;
      most = std::max(most, stacked_[s]);
    }
    const int64_t excess = most - (problem_.capacity - lowest_[box]);
    if (excess <= 0) continue;
    explain_section(
        static_cast<int>(std::find(stacked_.begin() + first, stacked_.begin() + last, most) -
                         stacked_.begin()),
        p, excess);
    return false;
  }
  return true;
}

// The boxes from `position` on overfill the section. So do fewer of them, as long as what is left
// out is smaller than the excess.
void OffsetSearch::explain_section(int section, int position, int64_t excess) {
  std::ranges::fill(conflict_, 0);
  for (int p = position; p < problem_.boxes(); ++p) {
    const int box = order_[p];
    if (section < problem_.first[box] || problem_.last[box] <= section) continue;
    if (problem_.size[box] < excess)
      excess -= problem_.size[box];
    else
      join(conflict_.data(), why(box));
  }
}

}  // namespace plimsoll
