#include "memory/layout/offset_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll {
namespace {

constexpr int kWordBits = 64;
constexpr int kMostWords = 32;
constexpr int kMostSweeps = 3;  // of propagate(): more find little
constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

}  // namespace

OffsetSearch::OffsetSearch(const PackingProblem& problem, std::span<const int> rank)
    : problem_(problem), rank_(rank) {
  const size_t n = problem.size.size();
  words_ = std::min(static_cast<int>(2 * n) / kWordBits + 1, kMostWords);
  lowest_.assign(n, 0);
  resting_.assign(n, 0);
  higher_.assign(n, -1);
  level_.assign(n, -1);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  stacked_.resize(problem.total.size());
  why_.assign(n * words_, 0);
  conflict_.assign(words_, 0);
}

Answer OffsetSearch::run(int64_t decisions, const std::atomic<bool>& stop) {
  limit_ = decisions;
  stop_ = &stop;
  if (std::ranges::max(problem_.total) > problem_.capacity) return Answer::impossible;
  const Window everything{0, static_cast<int>(problem_.total.size()), -1};
  return propagate(everything) ? decide(0) : Answer::impossible;
}

// impossible: and `conflict_` says which decisions above this level it follows from.
Answer OffsetSearch::decide(int level) {
  if (placed_ == problem_.boxes()) return Answer::placed;
  if (++decisions_ > limit_ || stop_->load(std::memory_order_relaxed)) return Answer::unknown;
  const int position = choose();
  if (position < 0) {  // all that is left waits for something else to rest on
    std::ranges::fill(conflict_, ~Word{0});
    return Answer::impossible;
  }
  const int box = order_[position];
  const size_t mark = saved_.size();
  const Window here{problem_.first[box], problem_.last[box], kNothing};

  Window window = here;
  bool raised = false;
  std::swap(order_[placed_++], order_[position]);
  place(box, level, window, raised);
  Answer answer = propagate(window) ? decide(level + 1) : Answer::impossible;
  if (answer != Answer::impossible) return answer;
  undo(mark);
  --placed_;
  level_[box] = -1;
  if (!contains(conflict_.data(), level)) return answer;
  if (!raised) {  // it was in nobody's way: it lies there whenever the rest can be placed
    remove(conflict_.data(), level);
    join(conflict_.data(), why(box));
    for (const int other : problem_.overlaps[box])
      level_[other] < 0 ? join(conflict_.data(), why(other)) : add(conflict_.data(), level_[other]);
    return answer;
  }

  if (failed_.size() < static_cast<size_t>(level + 1) * words_)
    failed_.resize(static_cast<size_t>(level + 1) * words_);
  std::ranges::copy(conflict_, failed(level));
  window = here;
  save(box, false);
  higher_[box] = level;
  answer = propagate(window) ? decide(level + 1) : Answer::impossible;
  if (answer != Answer::impossible) return answer;
  undo(mark);
  if (!contains(conflict_.data(), level)) return answer;
  join(conflict_.data(), failed(level));
  remove(conflict_.data(), level);
  join(conflict_.data(), why(box));
  return answer;
}

// The place in `order_` of the next box to decide on: the one with the lowest offset, of those that
// would rest on something there. -1: there is none.
int OffsetSearch::choose() const {
  int best = -1;
  for (int p = placed_; p < problem_.boxes(); ++p) {
    const int box = order_[p];
    if (best >= 0 && lowest_[box] > lowest_[order_[best]]) break;
    if (lowest_[box] != resting_[box] || higher_[box] >= 0) continue;
    if (best < 0 || rank_[box] < rank_[order_[best]]) best = p;
  }
  return best;
}

// Places `box` at its lowest offset, and all that overlaps it above. raised: it was in the way.
void OffsetSearch::place(int box, int level, Window& window, bool& raised) {
  level_[box] = level;
  const int64_t bottom = lowest_[box], top = bottom + problem_.size[box];
  for (const int other : problem_.overlaps[box]) {
    if (level_[other] >= 0 || resting_[other] >= top) continue;
    const bool is_raised = lowest_[other] < top;
    save(other, is_raised);
    resting_[other] = top;
    higher_[other] = -1;
    if (!is_raised) continue;
    raised = true;
    // Why it cannot lie below: it is too large, or its lowest offset is too high. (That may follow
    // only after more rounds of propagation than were done: then from everything so far.)
    if (problem_.size[other] > bottom)
      std::fill_n(why(other), words_, Word{0});
    else if (lowest_[other] + problem_.size[other] <= bottom)
      std::fill_n(why(other), words_, ~Word{0});
    add(why(other), level);
    raise(other, top, window);
  }
}

void OffsetSearch::raise(int box, int64_t lowest, Window& window) {
  window.first = std::min(window.first, problem_.first[box]);
  window.last = std::max(window.last, problem_.last[box]);
  window.above = std::min(window.above, lowest_[box]);
  lowest_[box] = lowest;
}

void OffsetSearch::save(int box, bool with_why) {
  saved_.push_back({box, with_why, lowest_[box], resting_[box], higher_[box]});
  if (with_why) saved_why_.insert(saved_why_.end(), why(box), why(box) + words_);
}

void OffsetSearch::undo(size_t mark) {
  for (; saved_.size() > mark; saved_.pop_back()) {
    const auto& [box, with_why, lowest, resting, higher] = saved_.back();
    lowest_[box] = lowest;
    resting_[box] = resting;
    higher_[box] = higher;
    if (!with_why) continue;
    std::copy(saved_why_.end() - words_, saved_why_.end(), why(box));
    saved_why_.resize(saved_why_.size() - words_);
  }
}

int OffsetSearch::bit_of(int level) const { return std::min(level, words_ * kWordBits - 1); }

void OffsetSearch::add(Word* set, int level) const {
  set[bit_of(level) / kWordBits] |= Word{1} << bit_of(level) % kWordBits;
}

// The last bit stays: deeper decisions may share it.
void OffsetSearch::remove(Word* set, int level) const {
  if (level < words_ * kWordBits - 1) set[level / kWordBits] &= ~(Word{1} << level % kWordBits);
}

bool OffsetSearch::contains(const Word* set, int level) const {
  return set[bit_of(level) / kWordBits] >> bit_of(level) % kWordBits & 1;
}

void OffsetSearch::join(Word* set, const Word* other) const {
  for (int i = 0; i < words_; ++i) set[i] |= other[i];
}

// ---- what follows from a decision

// False: this branch fails, and `conflict_` says why.
bool OffsetSearch::propagate(Window window) {
  bool changed = true;
  for (int sweep = 0; sweep < kMostSweeps && changed; ++sweep) {
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
