// RankGroup: what a trainer asks of the other ranks, and which of it is the first one's alone.
// Without ranks every answer is this process's own.
//
//   RankGroup group(options);
//   group.agree({{"data", identity}, {"seed", "1"}});        // before the first step
//   if (group.any(stop.requested())) ...
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ranks/ranks.h"
#include "train/options.h"

namespace plimsoll::train {

// Names and values that are the same on all ranks, in the order in which a difference is told.
using Facts = std::vector<std::pair<std::string, std::string>>;

class RankGroup {
 public:
  // As TrainOptions::ranks says: those of this thread (RanksScope), or planned ones for plan_only
  // and for one rank alone. UsageError where there are none or others, for a number below 0, and
  // for ranks that are there and were not asked for.
  explicit RankGroup(const TrainOptions& options);

  // How many times the deadline others may take that start, agree or end, and how many more where
  // a save may have to wait for the disk.
  static constexpr double kStartTimes = 10, kSaveTimes = 2;

  bool asked() const { return ranks_ != nullptr; }
  Ranks* ranks() const { return ranks_; }
  bool first() const { return !ranks_ || ranks_->rank() == 0; }
  int64_t number() const { return ranks_ ? ranks_->rank() : 0; }
  int64_t size() const { return ranks_ ? ranks_->size() : 1; }
  int64_t on_this_machine() const { return ranks_ ? ranks_->local_size() : 1; }
  void note(const std::string& what, double times) const {
    if (ranks_) ranks_->note(what, times);
  }

  // Options of this rank. Only the first has a folder, event files, pictures; all plan within a
  // budget by the model's costs, as those that each measures would differ.
  TrainOptions own(TrainOptions options) const;
  // Every rank throws the same UsageError where they do not agree, naming the first difference and
  // a rank that has it.
  void agree(const Facts& facts) const;
  bool any(bool here) const;
  std::string from_first(const std::string& text) const;
  // Of `count` things, those of this rank: begin ... end - 1, next to those of the rank before.
  std::pair<int64_t, int64_t> share(int64_t count) const;
  // `own`: what this rank found for its share of `count` things, `width` figures for each. Those of
  // all of them, in their order.
  std::vector<double> in_order(std::vector<double> own, int64_t count, int64_t width) const;

 private:
  std::unique_ptr<Ranks> planned_;
  Ranks* ranks_ = nullptr;
};

}  // namespace plimsoll::train
