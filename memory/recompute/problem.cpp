#include "memory/recompute/problem.h"

namespace plimsoll::recompute {

Timeline::Timeline(Problem given) : problem(std::move(given)) {
  std::vector<std::vector<int>> uses(problem.storages.size());
  maker.assign(problem.storages.size(), -1);
  for (int i = 0; i < ops(); ++i) {
    for (const int storage : problem.ops[i].reads)
      if (uses[storage].empty() || uses[storage].back() != i) uses[storage].push_back(i);
    for (const int storage : problem.ops[i].writes) maker[storage] = i;
  }
  for (int s = 0; s < storages(); ++s) {
    first_gap.push_back(gaps());
    for (const int use : uses[s]) {
      next_use.push_back(use);
      storage_of.push_back(s);
    }
  }
  first_gap.push_back(gaps());
}

bool Timeline::can_evict(int gap) const {
  const int storage = storage_of[gap];
  return problem.storages[storage].evictable &&
         next_use[gap] <= problem.ops[maker[storage]].repeatable_before;
}

}  // namespace plimsoll::recompute
