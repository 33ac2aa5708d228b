// OffsetSearch: branch and bound that places all boxes of a PackingProblem within its capacity, or
// proves that it cannot be done.
//
//   OffsetSearch search(problem, rank);
//   if (search.run(1'000, stop) == Answer::placed) search.offsets();   // in units
//
// A packing whose boxes have all sunk as low as they can rests box on box: every box lies at 0 or
// on the top of another. If there is a packing there is such a one, the one with the lowest sum of
// offsets, and only it is looked for. That much, and the bound per section, is the idea of
// M. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning" (ASPLOS 2023). Here it is cast in a form in which failures can be explained:
//
// Every box has a lowest offset that is not excluded yet. A decision takes the box with the lowest:
// it lies there, or it lies higher. Both raise the lowest offsets of boxes:
//   there:   all that overlap it must lie above it, because they cannot lie below;
//   higher:  it rests on a box that is not placed yet, so not below the lowest of their tops.
// A branch fails when
//   - in some section the boxes that lie at x or higher are together larger than capacity - x;
//   - a box that was decided to lie higher has nothing left to rest on, or nothing that could come
//     into its way: it would sink.
// Each raise carries the set of decisions that it follows from, and so does each failure; decisions
// that have no part in a failure are jumped over, without trying their other side. Without that,
// failures in one part of the time would be found again for every arrangement of another part:
// the jumps save a factor of ten to a thousand.
#pragma once

#include <atomic>

#include "core/cpu/pages.h"
#include "memory/layout/packing_problem.h"

namespace plimsoll {

enum class Answer { placed, impossible, unknown };

class OffsetSearch {
 public:
  // `rank` decides between boxes with the same lowest offset: the smallest goes first. Both
  // arguments must outlive the search.
  OffsetSearch(const PackingProblem& problem, std::span<const int> rank);

  // Up to so many decisions; unknown: they did not suffice, or `stop` was set. Once per search.
  Answer run(int64_t decisions, const std::atomic<bool>& stop);

  const std::vector<int64_t>& offsets() const { return lowest_; }  // when placed
  int64_t decisions() const { return decisions_; }

 private:
  using Word = uint64_t;
  struct Saved {  // what to restore
    int box;
    bool with_why;
    int64_t lowest;   // the box lies here or higher
    int64_t resting;  // the highest top of what is placed and overlaps it
    int higher;       // the decision that it lies higher than `resting`, or -1
  };
  struct Window {  // what has changed: these sections, and offsets above `above`
    int first, last;
    int64_t above;
  };

  Answer decide(int level);
  int choose() const;
  void place(int box, int level, Window& window, bool& raised);
  bool propagate(Window window);
  bool rests_on_something(int box, Window& window, bool& changed);
  void sort_by_lowest();
  bool sections_fit(const Window& window);
  void explain_section(int section, int position, int64_t excess);
  void raise(int box, int64_t lowest, Window& window);
  void save(int box, bool with_why);
  void undo(size_t mark);

  // Sets of decisions, by level. Those too deep to have a bit of their own share the last.
  Word* why(int box) { return why_.data() + box * words_; }
  Word* failed(int level) { return failed_.data() + level * words_; }
  int bit_of(int level) const;
  void add(Word* set, int level) const;
  void remove(Word* set, int level) const;
  bool contains(const Word* set, int level) const;
  void join(Word* set, const Word* other) const;

  const PackingProblem& problem_;
  std::span<const int> rank_;
  int64_t decisions_ = 0, limit_ = 0;
  const std::atomic<bool>* stop_ = nullptr;

  std::vector<int64_t> lowest_, resting_;
  std::vector<int> higher_;
  std::vector<int> level_;  // of the decision that placed a box, or -1
  std::vector<int> order_;  // the boxes placed, then the others by lowest offset
  int placed_ = 0;
  std::vector<int64_t>
      stacked_;  // scratch: per section, the sizes of boxes that lie at x or higher

  int words_ = 0;               // of a set
  std::vector<Word> why_;       // of each box: decisions that its lowest offset follows from
  std::vector<Word> conflict_;  // of the last failure
  // These grow to some MiB.
  std::pmr::vector<Word> failed_{page_memory()};  // of each level: why its first side failed
  std::pmr::vector<Saved> saved_{page_memory()};
  std::pmr::vector<Word> saved_why_{page_memory()};  // of those that are saved with it
};

}  // namespace plimsoll
