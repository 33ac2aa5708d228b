#include "core/ranks/planned_ranks.h"

#include <cstring>

#include "core/base/error.h"

namespace plimsoll {

PlannedRanks::PlannedRanks(int64_t rank, int64_t size) : rank_(rank), size_(size) {
  check<ValueError>(0 <= rank && rank < size, "ranks: there is no rank ", rank, " of ", size,
                    ". Count from 0.");
}

void PlannedRanks::check_alone() const {
  check<StateError>(size_ == 1, "ranks: ", size_,
                    " of them are planned, and only this one is there: rank ", rank_,
                    ". Start as many processes with mpirun.");
}

void PlannedRanks::all_to_all(const void* from, void* to, int64_t bytes) {
  all_gather(from, to, bytes);
}

void PlannedRanks::all_gather(const void* from, void* to, int64_t bytes) {
  check_alone();
  if (bytes > 0) std::memmove(to, from, static_cast<size_t>(bytes));
}

void PlannedRanks::broadcast(void*, int64_t, int64_t) { check_alone(); }

void PlannedRanks::abort(int, const std::string& sentence) { fail<StateError>(sentence); }

}  // namespace plimsoll
