// Chapter 2: the tape of a small net: which op made what from what, and which bytes it keeps for
// the gradients; then the bytes in use before, during and after the backward pass.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::tour {
namespace {

using NodePtr = std::shared_ptr<Node>;

// All nodes below a tensor, in the order in which they were made.
std::vector<NodePtr> tape_of(const Tensor& tensor) {
  std::vector<NodePtr> nodes{tensor.edge().node};
  std::set<const Node*> seen{nodes[0].get()};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<Edge> parents = nodes[i]->parents;
    for (const Edge& edge : parents)
      if (edge.node && seen.insert(edge.node.get()).second) nodes.push_back(edge.node);
  }
  std::ranges::sort(nodes, {}, [](const NodePtr& node) { return node->seq; });
  return nodes;
}

std::string kept_text(const Node& node) {
  std::string text;
  const auto add = [&](const char* what, const std::vector<Value>& values) {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].storage)
        text += cat(text.empty() ? "" : ", ", what, " ", i, " ", values[i].meta.shape);
  };
  add("input", node.in);
  add("output", node.out);
  return text.empty() ? "nothing" : text;
}

void print_tape_of(const Tensor& loss) {
  std::map<const Node*, int> number;
  std::printf("node  op             made from   keeps\n");
  for (const NodePtr& node : tape_of(loss)) {
    const int own = static_cast<int>(number.size());
    number[node.get()] = own;
    std::string parents;
    for (const Edge& edge : node->parents)
      if (edge.node) parents += cat(parents.empty() ? "" : " ", number[edge.node.get()]);
    std::printf("%4d  %-14s %-11s %s\n", own, node->op ? node->op->name : "leaf", parents.c_str(),
                node->op ? kept_text(*node).c_str() : "its gradient, where backward() is called");
  }
}

}  // namespace

void print_tape() {
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);
  const auto report = [&](const char* when) {
    std::printf("%-28s %8.1f KiB\n", when, kib(pool->stats().in_use));
  };
  const Net net({.layers = 2});
  const Batch batch = make_batch(64);
  report("parameters and inputs");
  Tensor loss = cross_entropy(net(batch.x, nn::training()), batch.y);
  report("after the forward pass");
  std::printf("\n");
  print_tape_of(loss);
  std::printf("\n");
  const std::vector<Tensor> parameters = net.parameters();
  std::vector<Tensor> grads = gradients(std::move(loss), parameters);
  report("after the backward pass");
  grads.clear();
  report("without the gradients");
}

}  // namespace plimsoll::tour
