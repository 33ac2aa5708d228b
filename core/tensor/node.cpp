#include "core/tensor/node.h"

namespace plimsoll {

Node::Node() {
  seq = next_seq_++;
  ++live_;
}

// A long tape is a long chain of owners: unwound in a loop here, because destroying it by recursion
// would overflow the stack.
Node::~Node() {
  --live_;
  std::vector<Edge> pending = std::move(parents);
  while (!pending.empty()) {
    std::shared_ptr<Node> node = std::move(pending.back().node);
    pending.pop_back();
    if (!node || node.use_count() > 1) continue;
    for (Edge& edge : node->parents) pending.push_back(std::move(edge));
    node->parents.clear();
  }
}

void Node::release() {
  in.clear();
  out.clear();
  released = true;
}

}  // namespace plimsoll
