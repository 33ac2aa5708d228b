// PlannedRanks: one rank of any number of ranks that are not there. Steps are captured and planned
// with it as that rank would have them; nothing can be moved but where it is the only one.
//
//   PlannedRanks ranks(/*rank=*/0, /*size=*/64);
//   const RanksScope scope(&ranks);
//   step.plan(metas).print();                         // bytes of rank 0 of 64
#pragma once

#include "core/ranks/ranks.h"

namespace plimsoll {

class PlannedRanks : public Ranks {
 public:
  // ValueError unless 0 <= rank < size.
  PlannedRanks(int64_t rank, int64_t size);

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  int64_t local_size() const override { return 1; }
  // StateError where there are others.
  Ticket start(const Collective& collective) override;
  void wait(Ticket) override {}
  void wait_all() override {}
  // StateError with the sentence.
  [[noreturn]] void abort(int code, const std::string& sentence) override;

 private:
  int64_t rank_, size_;
};

}  // namespace plimsoll
