#include "memory/layout/exact_offsets.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

// The searches, by number: which boxes go first, and how long it may take. Largest first by Width
// (lifetime), Area, Total alive with it, siZe. The first time as they are, and then with each box's
// width, area and size off by up to 30 %; width does best, so it gets more turns.
constexpr std::string_view kOrders[] = {"WAT", "TWA", "TAW", "AWT", "ZWA", "WAT", "WAT"};
constexpr int64_t kDifferent = 5;
constexpr int64_t kShortest = 1000;    // decisions
constexpr int64_t kFirstTry = 30'000;  // decisions for each height in tighten(), the first time

// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: what is best when nothing is known about how long the searches
// take (M. Luby, A. Sinclair, D. Zuckerman 1993).
int64_t luby(int64_t i) {
  for (int64_t size = 1;; size = 2 * size + 1) {
    if (i == size - 1) return (size + 1) / 2;
    if (i < size - 1) return luby(i - (size - 1) / 2);
  }
}

int64_t length_of(int64_t search, int boxes) {
  return std::max<int64_t>(kShortest, 3 * boxes) * luby(search / std::ssize(kOrders));
}

std::vector<int> rank_for(int64_t search, std::span<const Box> boxes,
                          const PackingProblem& problem) {
  const std::string_view keys = kOrders[search % std::size(kOrders)];
  std::mt19937 random(static_cast<uint32_t>(search));
  struct Entry {
    double keys[3];
    int box;
  };
  std::vector<Entry> entries;
  for (int i = 0; i < problem.boxes(); ++i) {
    const double width = static_cast<double>(boxes[i].end) - boxes[i].begin;
    const double size = static_cast<double>(problem.size[i]);
    const auto total = std::max_element(problem.total.begin() + problem.first[i],
                                        problem.total.begin() + problem.last[i]);
    const double noise =
        search < kDifferent ? 1 : std::exp((static_cast<double>(random() % 2001) / 1000 - 1) * 0.3);
    Entry entry{{}, i};
    for (int k = 0; k < 3; ++k)
      entry.keys[k] = keys[k] == 'W'   ? -width * noise
                      : keys[k] == 'A' ? -width * size * noise
                      : keys[k] == 'T' ? -static_cast<double>(*total)
                                       : -size * noise;
    entries.push_back(entry);
  }
  std::ranges::sort(entries, {}, [](const Entry& e) {
    return std::tuple(e.keys[0], e.keys[1], e.keys[2], e.box);
  });
  std::vector<int> rank(entries.size());
  for (size_t place = 0; place < entries.size(); ++place) rank[entries[place].box] = place;
  return rank;
}

// Runs the searches on one group of boxes until the first by number that has an answer is known.
class Race {
 public:
  Race(std::span<const Box> boxes, int64_t capacity) : boxes_(boxes), problem_(boxes, capacity) {}

  SearchedOffsets run(Clock::time_point deadline, int64_t decisions, int threads) {
    to_spend_ = decisions;
    std::vector<std::jthread> workers;
    stops_ = std::vector<Stop>(threads);
    std::unique_lock lock(mutex_);
    running_ = threads;
    for (Stop& stop : stops_) workers.emplace_back([this, &stop] { work(stop); });
    if (!finished_.wait_until(lock, deadline, [&] { return running_ == 0; })) {
      to_spend_ = 0;
      for (Stop& stop : stops_) stop.now = true;
      finished_.wait(lock, [&] { return running_ == 0; });
    }
    return found_;
  }

 private:
  struct Stop {
    std::atomic<bool> now{false};
    int64_t search = 0;
  };

  void work(Stop& stop) {
    std::unique_lock lock(mutex_);
    while (to_spend_ > 0 && next_ < first_answer_) {
      const int64_t search = next_++;
      const int64_t length = std::min(length_of(search, problem_.boxes()), to_spend_);
      to_spend_ -= length;
      stop.search = search;
      stop.now = false;
      lock.unlock();
      const std::vector<int> rank = rank_for(search, boxes_, problem_);
      OffsetSearch attempt(problem_, rank);
      const Answer answer = attempt.run(length, stop.now);
      lock.lock();
      found_.decisions += attempt.decisions();
      if (answer == Answer::unknown || search > first_answer_) continue;
      first_answer_ = search;
      found_.answer = answer;
      found_.offsets.clear();
      if (answer == Answer::placed)
        for (const int64_t offset : attempt.offsets())
          found_.offsets.push_back(offset * problem_.unit);
      for (Stop& other : stops_)
        if (other.search > search) other.now = true;
    }
    --running_;
    finished_.notify_one();
  }

  std::span<const Box> boxes_;
  const PackingProblem problem_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable finished_;
  std::vector<Stop> stops_;
  int running_ = 0;
  int64_t to_spend_ = 0, next_ = 0;
  int64_t first_answer_ = std::numeric_limits<int64_t>::max();
  SearchedOffsets found_;
};

Clock::time_point deadline_of(const Effort& effort) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(effort.seconds, 1e9)));
}

SearchedOffsets place_greedily(std::span<const Box> boxes, int64_t capacity) {
  const Packing packing = place(boxes);
  const bool fits = packing.height <= capacity;
  return {fits ? Answer::placed : Answer::unknown, packing.offsets, 0, fits};
}

SearchedOffsets place_before(std::span<const Box> boxes, int64_t capacity,
                             Clock::time_point deadline, int64_t decisions, int threads) {
  SearchedOffsets all{Answer::placed, std::vector<int64_t>(boxes.size()), 0};
  if (live_peak(boxes).bytes > capacity) return {Answer::impossible, {}, 0};
  for (const std::vector<int>& group : independent_groups(boxes)) {
    std::vector<Box> members;
    for (const int i : group) members.push_back(boxes[i]);
    const SearchedOffsets part = members.size() > kMostBoxes
                                     ? place_greedily(members, capacity)
                                     : Race(members, capacity).run(deadline, decisions, threads);
    all.decisions += part.decisions;
    if (part.answer != Answer::placed) return {part.answer, {}, all.decisions, part.searched};
    for (size_t k = 0; k < group.size(); ++k) all.offsets[group[k]] = part.offsets[k];
  }
  return all;
}

}  // namespace

SearchedOffsets place_within(std::span<const Box> boxes, int64_t capacity, const Effort& effort) {
  return place_before(boxes, capacity, deadline_of(effort), effort.decisions, effort.threads);
}

// Tries the lower bound first, because it is often met, and then halves what is between the lowest
// height that failed and the best packing; again and again with more effort for each try.
Packing tighten(std::span<const Box> boxes, Packing start, const Effort& effort) {
  if (boxes.size() > kMostBoxes && independent_groups(boxes).size() == 1) return start;
  const Clock::time_point deadline = deadline_of(effort);
  int64_t unit = 0, to_spend = effort.decisions;
  for (const Box& box : boxes) unit = std::gcd(unit, box.bytes);
  Packing best = std::move(start);
  const auto done = [&] {
    return best.height <= best.lower_bound || to_spend <= 0 || Clock::now() >= deadline;
  };
  constexpr int64_t kMostTries = std::numeric_limits<int64_t>::max() / 4;
  for (int64_t each = kFirstTry; !done(); each = std::min(each, kMostTries) * 4) {
    int64_t decided = 0;
    int64_t failed = best.lower_bound - unit, height = best.lower_bound;
    for (; !done() && height < best.height;
         height = failed + (best.height - failed) / unit / 2 * unit) {
      const int64_t tries = std::min(each, to_spend);
      const SearchedOffsets found = place_before(boxes, height, deadline, tries, effort.threads);
      to_spend -= tries;
      decided += found.decisions;
      if (found.answer == Answer::placed) {
        best.offsets = found.offsets;
        best.height = 0;
        for (size_t i = 0; i < boxes.size(); ++i)
          best.height = std::max(best.height, best.offsets[i] + boxes[i].bytes);
      } else {
        failed = height;
        if (found.answer == Answer::impossible) best.lower_bound = height + unit;
      }
      if (failed + unit >= best.height) break;
    }
    if (decided == 0) break;  // more effort would change nothing
  }
  return best;
}

}  // namespace plimsoll
