// The cheapest edges whose removal leaves no way from one node to another, by the largest flow
// between them (Ford and Fulkerson 1956), found along shortest ways (Dinic 1970).
//
//   MinCut graph(4);                      // nodes 0 to 3
//   graph.add(0, 1, 5), graph.add(1, 3, 2), graph.add(0, 2, 1), graph.add(2, 3, 7);
//   graph.solve(0, 3, 1'000);             // 3: the edges 1 -> 3 and 0 -> 2
//   graph.beyond(2);                      // true: it is on the side of 3
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll::recompute {

class MinCut {
 public:
  static constexpr int64_t kNever = int64_t{1} << 60;  // an edge that is in no cut

  explicit MinCut(int nodes) : first_(nodes, -1), distance_(nodes), next_(nodes) {}

  void add(int from, int to, int64_t capacity);
  // The capacity of the cut, or at most as much where it was not found by looking at so many edges.
  // All capacities below kNever may add up to at most kNever.
  int64_t solve(int source, int sink, int64_t effort);
  bool solved() const { return solved_; }
  // Whether the node is behind the cut; of several cuts the one that is nearest to the source.
  bool beyond(int node) const { return distance_[node] < 0; }
  int64_t looked_at() const { return looked_at_; }  // edges: the measure of effort

 private:
  struct Edge {
    int to, next;  // the next edge that begins where this one does
    int64_t capacity;
  };

  bool find_distances(int source, int sink);
  int64_t push(int source, int sink);

  std::vector<Edge> edges_;  // each is followed by its reverse
  std::vector<int> first_, distance_, next_;
  bool solved_ = false;
  int64_t looked_at_ = 0;
};

}  // namespace plimsoll::recompute
