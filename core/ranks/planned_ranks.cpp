#include "core/ranks/planned_ranks.h"

#include <cstring>

#include "core/base/error.h"

namespace plimsoll {

PlannedRanks::PlannedRanks(int64_t rank, int64_t size) : rank_(rank), size_(size) {
  check<ValueError>(0 <= rank && rank < size, "ranks: there is no rank ", rank, " of ", size,
                    ". Count from 0.");
}

// Among one, each kind is a copy.
Ticket PlannedRanks::start(const Collective& collective) {
  check<StateError>(size_ == 1, "ranks: ", size_,
                    " of them are planned, and only this one is there: rank ", rank_,
                    ". Start as many processes with mpirun.");
  if (collective.kind != Collective::Kind::broadcast && collective.bytes > 0)
    std::memmove(collective.to, collective.from, static_cast<size_t>(collective.bytes));
  return 0;
}

void PlannedRanks::abort(int, const std::string& sentence) { fail<StateError>(sentence); }

}  // namespace plimsoll
