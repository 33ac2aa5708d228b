#include "memory/recompute/min_cut.h"

#include <algorithm>

namespace plimsoll::recompute {

void MinCut::add(int from, int to, int64_t capacity) {
  const auto number = static_cast<int>(edges_.size());
  edges_.push_back({to, first_[from], capacity});
  edges_.push_back({from, first_[to], 0});
  first_[from] = number;
  first_[to] = number + 1;
}

// Edges from the source to each node, on ways that are not full; -1: there is none.
bool MinCut::find_distances(int source, int sink) {
  std::ranges::fill(distance_, -1);
  distance_[source] = 0;
  std::vector<int> queue{source};
  for (size_t q = 0; q < queue.size(); ++q)
    for (int e = first_[queue[q]]; e >= 0; e = edges_[e].next) {
      ++looked_at_;
      if (edges_[e].capacity == 0 || distance_[edges_[e].to] >= 0) continue;
      distance_[edges_[e].to] = distance_[queue[q]] + 1;
      queue.push_back(edges_[e].to);
    }
  return distance_[sink] >= 0;
}

// One way more along edges that lead further from the source, as much as it takes; 0: all are full.
int64_t MinCut::push(int source, int sink) {
  std::vector<int> way;
  for (int node = source; node != sink;) {
    int& e = next_[node];
    while (e >= 0 && (edges_[e].capacity == 0 || distance_[edges_[e].to] != distance_[node] + 1)) {
      ++looked_at_;
      e = edges_[e].next;
    }
    if (e >= 0) {
      way.push_back(e);
      node = edges_[e].to;
      continue;
    }
    if (way.empty()) return 0;
    node = edges_[way.back() ^ 1].to;  // nothing leads on from here
    way.pop_back();
    next_[node] = edges_[next_[node]].next;
  }
  int64_t least = kNever;
  for (const int e : way) least = std::min(least, edges_[e].capacity);
  for (const int e : way) {
    edges_[e].capacity -= least;
    edges_[e ^ 1].capacity += least;
  }
  looked_at_ += static_cast<int64_t>(way.size());
  return least;
}

int64_t MinCut::solve(int source, int sink, int64_t effort) {
  int64_t flow = 0;
  while (looked_at_ < effort) {
    solved_ = !find_distances(source, sink);
    if (solved_) break;
    next_ = first_;
    while (looked_at_ < effort) {
      const int64_t more = push(source, sink);
      if (more == 0) break;
      flow += more;
    }
  }
  return flow;
}

}  // namespace plimsoll::recompute
